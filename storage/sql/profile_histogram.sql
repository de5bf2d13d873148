-- Valid pairs (profile_pairs) in bins of speedup, four to an octave, by both clocks: from_speedup is the lower end, the
-- upper is 2^(1/4) times that. The first and the last bin (1/16, 16) hold all beyond.
WITH measured AS (
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
    2 ** (greatest(least(floor(4 * log2(factor)), 16), -16) / 4) AS from_speedup,
    count(*) AS num_instances,
    count(*) / sum(count(*)) OVER (PARTITION BY device_id, environment_sha256, cache, backend, clock) AS instances_frac
FROM measured
WHERE factor > 0
GROUP BY device_id, environment_sha256, cache, backend, clock, from_speedup;
