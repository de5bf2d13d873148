-- The newest timing of each instance under each backend, per device, environment and state of the operands (cache):
-- that of the run that began last there. A run that could not try a backend (unavailable) does not hide one that could;
-- a run without a row in profile_runs is older than all that have one.
SELECT timings.*, profile_runs.started_at
FROM timings
LEFT JOIN profile_runs USING (run_id, device_id)
QUALIFY row_number() OVER (
    PARTITION BY instance_sha256, backend, device_id, timings.environment_sha256, cache
    ORDER BY status = 'unavailable', started_at DESC NULLS LAST, run_id DESC
) = 1;
