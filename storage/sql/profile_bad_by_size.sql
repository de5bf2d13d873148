-- The share of valid pairs (profile_pairs) that are slower end to end, by the number of ops; null where there are none
-- of that size.
WITH sizes (size_order, num_ops_range, at_least, at_most) AS (
    VALUES (1, '1-5', 1, 5), (2, '6-14', 6, 14), (3, '15-29', 15, 29), (4, '30-50', 30, 50), (5, '>50', 51, 2147483647)
)

SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    size_order,
    num_ops_range,
    count(*) FILTER (num_ops BETWEEN at_least AND at_most) AS num_instances,
    count(*) FILTER (num_ops BETWEEN at_least AND at_most AND speedup < 1) AS num_slow,
    num_slow / nullif(num_instances, 0) AS slow_frac,
    median(speedup) FILTER (num_ops BETWEEN at_least AND at_most) AS median_speedup,
    median(kernel_speedup) FILTER (num_ops BETWEEN at_least AND at_most) AS median_kernel_speedup
FROM profile_pairs
CROSS JOIN sizes
WHERE is_valid
GROUP BY device_id, environment_sha256, cache, backend, size_order, num_ops_range;
