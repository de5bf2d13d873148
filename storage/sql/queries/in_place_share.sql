-- In-place ops by family
-- Which share of a family's ops writes into an operand. In-place ops stop re-ordering and have to be functionalised:
-- such families test that part of a compiler.
WITH per_graph AS (
    SELECT
        signature_sha256,
        count(*) AS ops,
        count(*) FILTER (op = 'setitem' OR (ends_with(op, '_') AND NOT ends_with(op, '__'))) AS in_place_ops
    FROM nodes
    GROUP BY signature_sha256
),
families AS (
    SELECT DISTINCT signature_sha256, coalesce(family, 'unknown') AS family
    FROM graph_sources
    LEFT JOIN models USING (model_id)
)
SELECT
    family,
    count(*) AS graphs,
    count(*) FILTER (in_place_ops > 0) AS graphs_with_in_place,
    sum(in_place_ops)::BIGINT AS in_place_ops,
    sum(in_place_ops) / sum(ops) AS in_place_frac
FROM families
JOIN per_graph USING (signature_sha256)
GROUP BY family
ORDER BY in_place_frac DESC, family;
