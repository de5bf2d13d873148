-- How far stable timings are from the roof (profile_roofline), by what bounds them: quartiles of headroom, how many
-- times the least time that they take, end to end and by kernels alone. Empty where the device's peaks are not listed.
SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    bound,
    count(*) AS num_instances,
    quantile_cont(headroom, 0.25) AS lower_headroom,
    median(headroom) AS median_headroom,
    quantile_cont(headroom, 0.75) AS upper_headroom,
    median(kernel_headroom) AS median_kernel_headroom,
    count(*) FILTER (kernel_headroom < 2) / nullif(count(kernel_headroom), 0) AS within_twice_frac
FROM profile_roofline
WHERE stable AND headroom IS NOT NULL
GROUP BY device_id, environment_sha256, cache, backend, bound;
