-- Weights used more than once
-- Parameters that several calls of a graph take: tied embeddings, shared layers, recurrence. A pass that packs, folds or
-- moves a weight for one use must not break the others. Graphs whose calls take no more parameters than they have are
-- passed over early.
-- :limit = 200 | how many parameters
WITH calls AS (
    SELECT signature_sha256, operand_ops, count(*) AS calls FROM nodes WHERE contains(operand_ops, 'parameter') GROUP BY ALL
),
uses AS (
    SELECT signature_sha256, sum(calls * len(list_filter(string_split(operand_ops, ' '), lambda op: op = 'parameter'))) AS uses
    FROM calls
    GROUP BY signature_sha256
),
candidates AS (
    SELECT signature_sha256, tensors
    FROM graphs
    JOIN uses USING (signature_sha256)
    WHERE uses > len(list_filter(tensors, lambda tensor: tensor.kind = 'parameter'))
),
taken AS (
    SELECT signature_sha256, op, unnest(operands) AS operand
    FROM nodes
    WHERE contains(operand_ops, 'parameter') AND signature_sha256 IN (SELECT signature_sha256 FROM candidates)
),
shared AS (
    SELECT signature_sha256, -operand AS position, count(*) AS uses, list_sort(list(DISTINCT op)) AS ops
    FROM taken
    WHERE operand < 0
    GROUP BY ALL
    HAVING count(*) > 1
)
SELECT
    signature_sha256,
    model_id,
    tensors[position].original_name AS parameter,
    tensors[position].shape AS shape,
    uses,
    ops
FROM shared
JOIN candidates USING (signature_sha256)
JOIN (SELECT signature_sha256, min(model_id) AS model_id FROM graph_sources GROUP BY signature_sha256) USING (signature_sha256)
WHERE tensors[position].kind = 'parameter'
ORDER BY uses DESC, signature_sha256, position
LIMIT coalesce(getvariable('limit'), 200)::BIGINT;
