-- Pearson's correlation of speedup with the number of ops over valid pairs (profile_pairs), by both clocks; null where
-- fewer than two differ (and of `kernel` on a CPU).
WITH measured AS (
    SELECT device_id, environment_sha256, cache, backend, 'kernel' AS clock, kernel_speedup AS factor, num_ops
    FROM profile_pairs
    WHERE is_valid
    UNION ALL
    SELECT device_id, environment_sha256, cache, backend, 'latency', speedup, num_ops
    FROM profile_pairs
    WHERE is_valid
)

SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    clock,
    regr_count(factor, num_ops) AS num_instances,
    if(isfinite(corr(factor, num_ops)), corr(factor, num_ops), NULL) AS pearson
FROM measured
GROUP BY device_id, environment_sha256, cache, backend, clock;
