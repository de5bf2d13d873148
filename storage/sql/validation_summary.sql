-- Verdicts at $levels on the graphs of $model_ids (null: all), by constraint; passed_frac leaves out not_applicable.
WITH verdicts AS (
    SELECT *
    FROM constraints
    WHERE
        (list_contains($levels, level) OR "constraint" = 'fidelity')
        AND (
            $model_ids IS NULL
            OR signature_sha256 IN (
                SELECT signature_sha256 FROM graph_sources WHERE list_contains($model_ids, model_id)
            )
        )
),
reasons AS (
    SELECT "constraint", string_agg(reason || ' ' || number, ', ' ORDER BY number DESC, reason) AS reasons
    FROM (SELECT "constraint", reason, count(*) AS number FROM verdicts WHERE reason IS NOT NULL GROUP BY ALL)
    GROUP BY ALL
)
SELECT
    "constraint",
    any_value(level) AS level,
    count(*) FILTER (outcome = 'passed') AS passed,
    count(*) FILTER (outcome = 'failed') AS failed,
    count(*) FILTER (outcome = 'not_applicable') AS not_applicable,
    count(*) FILTER (outcome = 'passed') / nullif(count(*) FILTER (outcome <> 'not_applicable'), 0) AS passed_frac,
    any_value(reasons) AS reasons
FROM verdicts
LEFT JOIN reasons USING ("constraint")
GROUP BY "constraint"
ORDER BY "constraint";
