-- Ops by domain
-- How often each op occurs in the graphs of each domain, and in how many of them. Says which kernels and lowering rules
-- a backend for that domain needs first.
WITH per_graph AS (
    SELECT signature_sha256, op, count(*) AS uses FROM nodes GROUP BY ALL
)
SELECT
    coalesce(domain, 'unknown') AS domain,
    op,
    sum(uses)::BIGINT AS uses,
    count(*) AS graphs,
    sum(uses) / sum(sum(uses)) OVER (PARTITION BY coalesce(domain, 'unknown')) AS uses_frac
FROM per_graph
JOIN graphs USING (signature_sha256)
GROUP BY coalesce(domain, 'unknown'), op
ORDER BY 1, uses DESC, op;
