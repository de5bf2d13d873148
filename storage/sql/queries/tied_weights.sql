-- Weights used more than once
-- Parameters that several calls of a graph take: tied embeddings, shared layers, recurrence; `graphs.tensors[position]`
-- has their names. A pass that packs, folds or moves a weight for one use must not break the others.
-- :limit = 200 | how many parameters
WITH taken AS (
    SELECT hash(signature_sha256) AS graph, unnest(operands) AS operand, unnest(string_split(operand_ops, ' ')) AS kind
    FROM nodes
    WHERE contains(operand_ops, 'parameter')
),
counted AS (
    -- By a number in place of the 64 characters: the groups of all parameters of all graphs are many.
    SELECT graph, operand, count(*) AS uses
    FROM taken
    WHERE kind = 'parameter'
    GROUP BY graph, operand
    HAVING count(*) > 1
),
shared AS (
    SELECT signature_sha256, operand, uses
    FROM counted
    JOIN graphs ON hash(signature_sha256) = graph
    ORDER BY uses DESC, signature_sha256, operand DESC
    LIMIT coalesce(getvariable('limit'), 200)::BIGINT
),
callers AS (
    SELECT
        shared.signature_sha256,
        shared.operand,
        any_value(operand_shapes -> ('$[' || (list_position(operands, shared.operand) - 1) || ']'))::BIGINT[] AS shape,
        list_sort(list(DISTINCT op)) AS ops
    FROM nodes
    JOIN shared ON nodes.signature_sha256 = shared.signature_sha256 AND list_contains(operands, shared.operand)
    GROUP BY ALL
)
SELECT signature_sha256, model_id, -operand AS position, shape, uses, ops
FROM shared
JOIN callers USING (signature_sha256, operand)
JOIN (SELECT signature_sha256, min(model_id) AS model_id FROM graph_sources GROUP BY signature_sha256) USING (signature_sha256)
ORDER BY uses DESC, signature_sha256, position;
