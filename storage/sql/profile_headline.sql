-- The figures of appendix G that are one number each, over valid pairs (profile_pairs): shares that are slower end to
-- end, whose kernels are slower (degraded) or less than 1.2 times faster (marginal), graph sizes of the slow and of the
-- others, and of the slow ones the share whose kernels are faster, with their median kernel speedup. What needs the
-- kernels' own time is null on a CPU.
SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    count(*) AS num_instances,
    count(DISTINCT subgraph_sha256) AS num_subgraphs,
    median(speedup) AS median_speedup,
    exp(avg(ln(speedup))) AS geomean_speedup,
    median(kernel_speedup) AS median_kernel_speedup,
    exp(avg(ln(kernel_speedup))) AS geomean_kernel_speedup,
    count(*) FILTER (speedup < 1) / count(*) AS slow_frac,
    count(*) FILTER (speedup < 1.2) / count(*) AS slow_or_marginal_frac,
    count(*) FILTER (kernel_speedup < 1) / nullif(count(kernel_speedup), 0) AS degraded_frac,
    count(*) FILTER (kernel_speedup < 1.2) / nullif(count(kernel_speedup), 0) AS marginal_frac,
    count(*) FILTER (speedup < 1 AND kernel_speedup > 1) / nullif(count(kernel_speedup) FILTER (speedup < 1), 0)
        AS slow_kernels_faster_frac,
    median(kernel_speedup) FILTER (speedup < 1 AND kernel_speedup > 1) AS slow_kernels_faster_median,
    median(num_ops) AS median_num_ops,
    median(num_ops) FILTER (speedup < 1) AS median_num_ops_slow,
    median(num_ops) FILTER (speedup >= 1) AS median_num_ops_others
FROM profile_pairs
WHERE is_valid
GROUP BY device_id, environment_sha256, cache, backend;
