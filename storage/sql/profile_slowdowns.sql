-- Why valid pairs (profile_pairs) are slower end to end (speedup < 1): one cause each, tried in this order.
--   1 kernel degradation: the kernels alone are slower than eager's (kernel_speedup < 1).
--   2 small graph: fewer than 15 ops, which a fixed cost per call outweighs.
--   3 dispatch overhead: 15 ops or more, and eager takes less than 2 ms.
--   4 kernel degradation again, where kernels have no clock (a CPU): still slower once the overhead of an empty graph
--     is taken off the latency.
--   5 other.
-- Kernels come first because the paper's table 8 adds up that way only: its small graphs and dispatch overheads are the
-- 80.2 % whose kernels are faster. On a CPU a small graph whose code is slow cannot be told from one that pays for the
-- call: within_overhead_frac says in how many cases the loss is no more than the overhead of an empty graph.
WITH causes (cause_order, cause) AS (
    VALUES (1, 'small graph'), (2, 'dispatch overhead'), (3, 'kernel degradation'), (4, 'other')
),

slow AS (
    SELECT
        *,
        CASE
            WHEN kernel_speedup < 1 THEN 'kernel degradation'
            WHEN num_ops < 15 THEN 'small graph'
            WHEN num_ops >= 15 AND eager_us < 2000 THEN 'dispatch overhead'
            WHEN kernel_speedup IS NULL AND latency_us - overhead_us > eager_us THEN 'kernel degradation'
            ELSE 'other'
        END AS cause
    FROM profile_pairs
    WHERE is_valid AND speedup < 1
),

settings AS (
    SELECT device_id, environment_sha256, cache, backend, count(*) AS num_slow
    FROM slow
    GROUP BY ALL
)

SELECT
    settings.device_id,
    settings.environment_sha256,
    settings.cache,
    settings.backend,
    causes.cause_order,
    causes.cause,
    count(slow.speedup) AS num_instances,
    num_instances / any_value(settings.num_slow) AS instances_frac,
    median(slow.speedup) AS median_speedup,
    median(slow.kernel_speedup) AS median_kernel_speedup,
    count(*) FILTER (slow.latency_us - slow.eager_us <= slow.overhead_us) / nullif(count(slow.overhead_us), 0)
        AS within_overhead_frac
FROM settings
CROSS JOIN causes
LEFT JOIN slow USING (device_id, environment_sha256, cache, backend, cause)
GROUP BY ALL;
