-- Ops by domain
-- How often each op occurs in the graphs of each domain, and in how many of them; says which kernels and lowering rules
-- a backend for that domain needs first.
WITH per_graph AS (
    SELECT coalesce(domain, 'unknown') AS domain, unnest(map_entries(list_histogram(op_sequence))) AS entry FROM graphs
)
SELECT
    domain,
    entry.key AS op,
    sum(entry.value)::BIGINT AS uses,
    count(*) AS graphs,
    sum(entry.value) / sum(sum(entry.value)) OVER (PARTITION BY domain) AS uses_frac
FROM per_graph
GROUP BY ALL
ORDER BY domain, uses DESC, op;
