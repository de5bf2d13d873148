-- The tasks whose members were timed, per device, environment, state of the operands and backend: the median speedup over
-- eager, and how much of what the device's peaks allow is used (median of roofline_us over latency; null where peaks are
-- not known). A task is in the long tail where the backend is less than 1.2 times as fast as eager, or uses less than half
-- of the roof: where there is something left to win.
SELECT
    task_id,
    bench_tasks.kind,
    split,
    device_id,
    environment_sha256,
    cache,
    backend,
    count(*) AS num_timed,
    num_members,
    median(speedup) AS median_speedup,
    median(1 / headroom) AS roofline_used_frac,
    coalesce(median(speedup) < 1.2 OR median(1 / headroom) < 0.5, false) AS is_long_tail
FROM bench_members
JOIN bench_tasks USING (task_id)
JOIN profile_pairs USING (instance_sha256)
LEFT JOIN (SELECT instance_sha256, device_id, environment_sha256, cache, backend, headroom FROM profile_roofline)
    USING (instance_sha256, device_id, environment_sha256, cache, backend)
WHERE is_valid
GROUP BY ALL;
