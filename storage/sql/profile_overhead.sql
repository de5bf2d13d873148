-- The fixed overhead of each backend, run by run: median time of a graph without ops, microseconds, and what it is
-- above eager's. is_newest: the newest run on that device in that environment. device_us is null on a CPU.
WITH measured AS (
    SELECT device_id, environment_sha256, run_id, started_at, unnest(empty_us, recursive := true)
    FROM profile_runs
)

SELECT
    *,
    latency_us - max(latency_us) FILTER (backend = 'eager') OVER (PARTITION BY device_id, run_id) AS over_eager_us,
    started_at = max(started_at) OVER (PARTITION BY device_id, environment_sha256) AS is_newest
FROM measured;
