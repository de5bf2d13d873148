-- How valid pairs (profile_pairs) spread over ranges of speedup, by both clocks: `latency`, end to end, and `kernel`,
-- of kernels alone (the paper's table 7), whose shares are null on a CPU. A range holds its lower end, not its upper.
WITH ranges (range_order, speedup_range, at_least, below) AS (
    VALUES
        (1, '<1.0', 0.0, 1.0),
        (2, '1.0-1.2', 1.0, 1.2),
        (3, '1.2-2.0', 1.2, 2.0),
        (4, '>=2.0', 2.0, 'infinity'::DOUBLE)
),

measured AS (
    SELECT device_id, environment_sha256, cache, backend, 'kernel' AS clock, kernel_speedup AS factor
    FROM profile_pairs
    WHERE is_valid
    UNION ALL
    SELECT device_id, environment_sha256, cache, backend, 'latency', speedup
    FROM profile_pairs
    WHERE is_valid
)

SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    clock,
    range_order,
    speedup_range,
    if(count(factor) = 0, NULL, count(*) FILTER (factor >= at_least AND factor < below)) AS num_instances,
    num_instances / count(factor) AS instances_frac
FROM measured
CROSS JOIN ranges
GROUP BY device_id, environment_sha256, cache, backend, clock, range_order, speedup_range;
