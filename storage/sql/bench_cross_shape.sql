-- Step 5, rule cross_shape: per kind and op sequence one group, of the lowest hash of each shape bucket, whatever its
-- types. A sequence of one shape bucket has a group of one, so that every sequence has a group.
WITH lowest AS (
    SELECT kind, op_sequence_xxh3, shape_bucket, min(instance_sha256) AS instance_sha256
    FROM bench_buckets
    GROUP BY kind, op_sequence_xxh3, shape_bucket
)

SELECT kind, 'cross_shape' AS rule, op_sequence_xxh3, list(instance_sha256 ORDER BY instance_sha256) AS members
FROM lowest
GROUP BY kind, op_sequence_xxh3;
