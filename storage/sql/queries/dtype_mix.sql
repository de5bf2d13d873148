-- Dtypes by domain
-- Which dtypes the ops of each domain return (the first tensor of each), and in how many graphs. Says how much of a
-- program is integer or boolean bookkeeping, and where half precision really reaches.
WITH per_graph AS (
    SELECT signature_sha256, output_dtype, count(*) AS calls FROM nodes WHERE output_dtype IS NOT NULL GROUP BY ALL
)
SELECT
    coalesce(domain, 'unknown') AS domain,
    output_dtype AS dtype,
    sum(calls)::BIGINT AS calls,
    count(*) AS graphs,
    sum(calls) / sum(sum(calls)) OVER (PARTITION BY coalesce(domain, 'unknown')) AS calls_frac
FROM per_graph
JOIN graphs USING (signature_sha256)
GROUP BY coalesce(domain, 'unknown'), output_dtype
ORDER BY 1, calls DESC, dtype;
