-- The smallest t in [-10, 0] at which outputs are within atol(t) and rtol(t) of eager's (paper, appendix F), by dtype,
-- over pairs (profile_pairs) that are ok and were compared; null: at none. passing_frac: share that passes at that t.
SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    dtype,
    tolerance_level,
    count(*) AS num_instances,
    count(*) / sum(count(*)) OVER every AS instances_frac,
    if(
        tolerance_level IS NULL,
        NULL,
        sum(count(*)) OVER (every ORDER BY tolerance_level NULLS LAST) / sum(count(*)) OVER every
    ) AS passing_frac
FROM profile_pairs
WHERE eager_status = 'ok' AND status = 'ok' AND bitwise_equal IS NOT NULL
GROUP BY device_id, environment_sha256, cache, backend, dtype, tolerance_level
WINDOW every AS (PARTITION BY device_id, environment_sha256, cache, backend, dtype);
