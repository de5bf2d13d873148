-- Step 2: the distinct instances of each kind and the bucket of each, which is (kind, op_sequence_xxh3, shape_bucket,
-- operand_dtypes). An instance that several subgraphs share is one member, and counts once: its hash fixes its ops,
-- sizes and types. instance_xxh3 decides which are drawn as tasks of their own (bench_single).
SELECT
    kind,
    op_sequence_xxh3,
    shape_bucket,
    operand_dtypes,
    instance_sha256,
    xxh3_64(instance_sha256) AS instance_xxh3
FROM (
    SELECT kind, instance_sha256, min(op_sequence_xxh3) AS op_sequence_xxh3, min(shape_bucket) AS shape_bucket,
        min(operand_dtypes) AS operand_dtypes
    FROM bench_instances
    GROUP BY kind, instance_sha256
);
