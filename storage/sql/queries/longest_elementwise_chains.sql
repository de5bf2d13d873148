-- Longest chains of element-wise ops
-- In each program, the longest run of element-wise ops of which each takes the value of the op just before it. Such a
-- chain is one kernel for a compiler that fuses, onto the op before it if that has an epilogue. Sizes do not matter
-- here: of each structure one graph is read, and `graphs` says how many share it.
-- :limit = 50 | how many programs
WITH programs AS (
    SELECT min(signature_sha256) AS signature_sha256, count(*) AS graphs FROM graphs GROUP BY structure_sha256
),
links AS (
    SELECT signature_sha256, list("index" ORDER BY "index") AS indexes
    FROM nodes
    SEMI JOIN programs USING (signature_sha256)
    WHERE
        rtrim(op, '_') IN (
            'add', 'sub', 'mul', 'div', 'neg', 'abs', 'pow', 'square', 'sqrt', 'rsqrt', 'reciprocal', 'exp', 'expm1',
            'log', 'log1p', 'sin', 'cos', 'tanh', 'sigmoid', 'logsigmoid', 'relu', 'relu6', 'leaky_relu', 'elu', 'selu',
            'gelu', 'silu', 'mish', 'softplus', 'hardtanh', 'hardsigmoid', 'hardswish', 'clamp', 'maximum', 'minimum',
            'where', 'masked_fill', 'dropout', 'to', 'float', 'half', 'type_as', 'eq', 'ne', 'lt', 'le', 'gt', 'ge',
            'bitwise_and', 'bitwise_or', 'bitwise_not', 'logical_and', 'logical_or', 'logical_not', 'floor', 'round', 'erf'
        )
        AND "index" > 0
        AND (operands[1] = "index" - 1 OR operands[2] = "index" - 1 OR operands[3] = "index" - 1)
    GROUP BY signature_sha256
),
runs AS (
    SELECT
        signature_sha256,
        unnest(indexes) AS "index",
        unnest(list_transform(indexes, lambda op, position: op - position)) AS run
    FROM links
),
chains AS (
    SELECT signature_sha256, min("index") AS start_index, count(*) AS num_ops FROM runs GROUP BY signature_sha256, run
),
longest AS (
    SELECT signature_sha256, max(num_ops) AS num_ops, arg_min(start_index, (-num_ops, start_index)) AS start_index
    FROM chains
    GROUP BY signature_sha256
    ORDER BY num_ops DESC, signature_sha256
    LIMIT coalesce(getvariable('limit'), 50)::BIGINT
)
SELECT
    signature_sha256,
    any_value(model_id) AS model_id,
    any_value(graphs) AS graphs,
    longest.start_index,
    longest.num_ops,
    list(op ORDER BY "index") AS ops
FROM longest
JOIN nodes USING (signature_sha256)
JOIN programs USING (signature_sha256)
JOIN (SELECT signature_sha256, min(model_id) AS model_id FROM graph_sources GROUP BY signature_sha256) USING (signature_sha256)
WHERE "index" >= longest.start_index AND "index" < longest.start_index + longest.num_ops
GROUP BY signature_sha256, longest.start_index, longest.num_ops
ORDER BY longest.num_ops DESC, signature_sha256;
