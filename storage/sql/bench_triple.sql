-- Step 4, rule triple: what bench_single leaves of each bucket, in the order of hashes and in stretches of 15; the first
-- three of each stretch are a group. A last stretch of fewer than three gives none. Sigma is that of bench_single.
WITH placed AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY kind, op_sequence_xxh3, shape_bucket, operand_dtypes ORDER BY instance_sha256
        ) - 1 AS place
    FROM bench_buckets
    WHERE instance_xxh3 % coalesce(
        getvariable('sigma'), (SELECT any_value(config ->> '$.sigma')::INTEGER FROM bench_builds), 16
    ) <> 0
)

SELECT kind, 'triple' AS rule, op_sequence_xxh3, list(instance_sha256 ORDER BY instance_sha256) AS members
FROM placed
WHERE place % 15 < 3
GROUP BY kind, op_sequence_xxh3, shape_bucket, operand_dtypes, place // 15
HAVING count(*) = 3;
