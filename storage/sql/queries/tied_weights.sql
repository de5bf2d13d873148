-- Weights used more than once
-- Parameters that several calls of a graph take: tied embeddings, shared layers, recurrence; `graphs.tensors[position]`
-- has their names. A pass that packs, folds or moves a weight for one use must not break the others. Graphs whose calls
-- take no more weights than the graph has are passed over early.
-- :limit = 200 | how many parameters
WITH calls AS (
    SELECT signature_sha256, operand_ops, count(*) AS calls FROM nodes WHERE operand_ops <> '' GROUP BY ALL
),
uses AS (
    SELECT
        signature_sha256,
        sum(calls * len(list_filter(
            string_split(operand_ops, ' '), lambda op: op IN ('parameter', 'buffer', 'constant')
        ))) AS uses
    FROM calls
    GROUP BY signature_sha256
),
candidates AS (
    SELECT signature_sha256 FROM graphs JOIN uses USING (signature_sha256) WHERE uses > num_weights
),
taken AS (
    SELECT
        signature_sha256,
        op,
        unnest(operands) AS operand,
        unnest(string_split(operand_ops, ' ')) AS kind,
        unnest(operand_shapes::JSON[]) AS shape
    FROM nodes
    SEMI JOIN candidates USING (signature_sha256)
    WHERE contains(operand_ops, 'parameter')
),
shared AS (
    SELECT
        signature_sha256,
        -operand AS position,
        any_value(shape)::BIGINT[] AS shape,
        count(*) AS uses,
        list_sort(list(DISTINCT op)) AS ops
    FROM taken
    WHERE kind = 'parameter'
    GROUP BY signature_sha256, operand
    HAVING count(*) > 1
    ORDER BY uses DESC, signature_sha256, position
    LIMIT coalesce(getvariable('limit'), 200)::BIGINT
)
SELECT signature_sha256, model_id, position, shape, uses, ops
FROM shared
JOIN (SELECT signature_sha256, min(model_id) AS model_id FROM graph_sources GROUP BY signature_sha256) USING (signature_sha256)
ORDER BY uses DESC, signature_sha256, position;
