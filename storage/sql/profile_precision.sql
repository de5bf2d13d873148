-- How far outputs are from eager's, over pairs (profile_pairs) that are ok and were compared, noisy ones too: largest
-- absolute difference of any element. Classes: `<1e-6` includes the bitwise identical, as in the paper; the last two
-- are apart from it. Mean speedups are over the valid pairs of a class.
WITH classes (class_order, precision) AS (
    VALUES (1, 'bitwise identical'), (2, '<1e-6'), (3, '1e-6-1e-3'), (4, '>=1e-3')
),

compared AS (
    SELECT
        *,
        CASE
            WHEN bitwise_equal THEN ['bitwise identical', '<1e-6']
            WHEN max_abs_diff < 1e-6 THEN ['<1e-6']
            WHEN max_abs_diff < 1e-3 THEN ['1e-6-1e-3']
            ELSE ['>=1e-3']
        END AS precisions
    FROM profile_pairs
    WHERE eager_status = 'ok' AND status = 'ok' AND bitwise_equal IS NOT NULL
)

SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    class_order,
    precision,
    count(*) FILTER (list_contains(precisions, precision)) AS num_instances,
    num_instances / count(*) AS instances_frac,
    avg(speedup) FILTER (is_valid AND list_contains(precisions, precision)) AS mean_speedup,
    avg(kernel_speedup) FILTER (is_valid AND list_contains(precisions, precision)) AS mean_kernel_speedup
FROM compared
CROSS JOIN classes
GROUP BY device_id, environment_sha256, cache, backend, class_order, precision;
