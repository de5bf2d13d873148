-- Valid pairs (profile_pairs) by the ops that they hold: an instance counts once for each distinct op.
SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    op,
    count(*) AS num_instances,
    median(speedup) AS median_speedup,
    median(kernel_speedup) AS median_kernel_speedup,
    count(*) FILTER (speedup < 1) / count(*) AS slow_frac,
    count(*) FILTER (kernel_speedup < 1) / nullif(count(kernel_speedup), 0) AS degraded_frac
FROM (
    SELECT * EXCLUDE (op_sequence), unnest(list_distinct(op_sequence)) AS op
    FROM profile_pairs
    WHERE is_valid
)
GROUP BY device_id, environment_sha256, cache, backend, op;
