-- Failed verdicts by op
-- For each check and op, how many of the graphs with the op fail the check, against the rate over all graphs (lift).
-- High lift names the op to look at first when a check fails.
-- :min_graphs = 5 | leave out ops in fewer graphs
WITH uses AS (
    SELECT DISTINCT signature_sha256, op FROM nodes
),
verdicts AS (
    SELECT signature_sha256, "constraint", outcome = 'failed' AS has_failed
    FROM current_constraints
    WHERE outcome <> 'not_applicable'
),
rates AS (
    SELECT "constraint", avg(has_failed::INTEGER) AS failed_frac FROM verdicts GROUP BY ALL
)
SELECT
    "constraint",
    op,
    count(*) AS graphs,
    count(*) FILTER (has_failed) AS failed,
    avg(has_failed::INTEGER) / any_value(failed_frac) AS lift
FROM verdicts
JOIN rates USING ("constraint")
JOIN uses USING (signature_sha256)
WHERE failed_frac > 0
GROUP BY "constraint", op
HAVING failed > 0 AND graphs >= coalesce(getvariable('min_graphs'), 5)::BIGINT
ORDER BY lift DESC, failed DESC, "constraint", op;
