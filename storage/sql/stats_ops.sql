-- The commonest ops over distinct graphs: how often each occurs, and in how many graphs.
WITH distinct_graphs AS (
    SELECT any_value(op_sequence) AS op_sequence, graph_sha256 FROM graphs GROUP BY graph_sha256
),
ops AS (
    SELECT graph_sha256, unnest(op_sequence) AS op FROM distinct_graphs
)
SELECT
    op,
    count(*) AS occurrences,
    count(DISTINCT graph_sha256) AS distinct_graphs,
    count(*) / sum(count(*)) OVER () AS occurrences_frac
FROM ops
GROUP BY op
ORDER BY occurrences DESC, op
LIMIT $limit;
