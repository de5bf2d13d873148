-- Graphs covered by the commonest ops
-- Ops from the one in most graphs to the rarest, and how many graphs consist of the first n alone. Says how many ops a
-- backend has to support to run half, or nine tenths, of the models whole.
WITH uses AS (
    SELECT DISTINCT signature_sha256, op FROM nodes
),
ranked AS (
    SELECT op, count(*) AS graphs, row_number() OVER (ORDER BY count(*) DESC, op) AS num_ops FROM uses GROUP BY op
),
needed AS (
    SELECT max(num_ops) AS num_ops FROM uses JOIN ranked USING (op) GROUP BY signature_sha256
),
completed AS (
    SELECT num_ops, count(*) AS graphs_completed FROM needed GROUP BY num_ops
)
SELECT
    num_ops,
    op,
    graphs,
    sum(coalesce(graphs_completed, 0)) OVER (ORDER BY num_ops)::BIGINT AS graphs_covered,
    sum(coalesce(graphs_completed, 0)) OVER (ORDER BY num_ops) / sum(coalesce(graphs_completed, 0)) OVER () AS covered_frac
FROM ranked
LEFT JOIN completed USING (num_ops)
ORDER BY num_ops;
