-- How many outputs are within atol(t) and rtol(t) of eager's (paper, appendix F) at each t from -10 to 0, by dtype, over
-- pairs (profile_pairs) that are ok and were compared. num_first: those whose smallest t it is; num_passing, passing_frac:
-- those of this t or a smaller one. What is missing at t = 0 passes nowhere.
WITH levels AS (
    SELECT unnest(range(-10, 1))::INTEGER AS tolerance_level
),

compared AS (
    SELECT device_id, environment_sha256, cache, backend, dtype, tolerance_level AS smallest
    FROM profile_pairs
    WHERE eager_status = 'ok' AND status = 'ok' AND bitwise_equal IS NOT NULL
)

SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    dtype,
    tolerance_level,
    count(*) AS num_instances,
    count(*) FILTER (smallest = tolerance_level) AS num_first,
    count(*) FILTER (smallest <= tolerance_level) AS num_passing,
    num_passing / num_instances AS passing_frac
FROM compared
CROSS JOIN levels
GROUP BY device_id, environment_sha256, cache, backend, dtype, tolerance_level;
