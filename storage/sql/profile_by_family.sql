-- Valid pairs (profile_pairs) by the family of the model that an instance was traced from; null: unknown.
SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    family,
    domain,
    count(*) AS num_instances,
    median(speedup) AS median_speedup,
    median(kernel_speedup) AS median_kernel_speedup,
    count(*) FILTER (speedup < 1) / count(*) AS slow_frac,
    count(*) FILTER (kernel_speedup < 1) / nullif(count(kernel_speedup), 0) AS degraded_frac
FROM profile_pairs
WHERE is_valid
GROUP BY device_id, environment_sha256, cache, backend, family, domain;
