-- Step 1 of PassBench: every instance under each kind of its subgraph, with the sizes and types that buckets go by.
-- shape_bucket: per operand in forward order, floor(log2(size) / 4) of each dimension (sizes of 0 count as 1), as text;
-- operand_dtypes: the operands' types in the same order. Weights are operands too. dtype is that of the model's weights.
WITH quantized AS (
    SELECT
        * EXCLUDE (operands),
        list_transform(
            operands,
            lambda operand: list_transform(
                operand.shape, lambda size: floor(log2(greatest(size, 1)) / 4)::UTINYINT
            )
        )::VARCHAR AS shape_bucket,
        list_transform(operands, lambda operand: operand.dtype)::VARCHAR AS operand_dtypes
    FROM (SELECT subgraph_sha256, shape_config, dtype, instance_sha256, structure_sha256, model_id, operands FROM instances)
)

SELECT
    kind,
    op_sequence_xxh3,
    shape_bucket,
    operand_dtypes,
    instance_sha256,
    subgraph_sha256,
    shape_config,
    dtype,
    quantized.structure_sha256,
    model_id
FROM quantized
JOIN (SELECT subgraph_sha256, kind, op_sequence_xxh3 FROM subgraphs) USING (subgraph_sha256);
