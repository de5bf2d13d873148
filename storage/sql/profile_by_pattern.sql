-- Valid pairs (profile_pairs) by their whole sequence of ops, named in order with a space between.
SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    array_to_string(op_sequence, ' ') AS pattern,
    any_value(num_ops) AS num_ops,
    count(*) AS num_instances,
    median(speedup) AS median_speedup,
    median(kernel_speedup) AS median_kernel_speedup,
    count(*) FILTER (speedup < 1) / count(*) AS slow_frac,
    count(*) FILTER (kernel_speedup < 1) / nullif(count(kernel_speedup), 0) AS degraded_frac
FROM profile_pairs
WHERE is_valid AND op_sequence IS NOT NULL
GROUP BY device_id, environment_sha256, cache, backend, pattern;
