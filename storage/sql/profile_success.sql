-- Per device, environment, state of the operands and backend: how many instances were tried (the backend was there),
-- how many compiled and ran to the end (timed), and how many did so well. success_kept_frac keeps unstable timings;
-- success_frac rejects them, eager's too, as the paper does, and unstable_of_failures_frac is their share of what it
-- then calls failures. backend_failed_frac: not ok where eager, in the same run, is; null for eager. stable_frac: of
-- the timed ones, by this backend's own noise. seconds_beyond_compile: mean wall time per instance, compilation left
-- out.
WITH tried AS (
    SELECT
        latest.*,
        eager.status AS eager_status,
        latest.stable AND (eager.backend IS NULL OR eager.stable) AS is_stable
    FROM profile_latest AS latest
    LEFT JOIN (FROM timings WHERE backend = 'eager') AS eager
        USING (instance_sha256, device_id, environment_sha256, cache, run_id)
    WHERE latest.status <> 'unavailable'
)

SELECT
    device_id,
    environment_sha256,
    cache,
    backend,
    count(*) AS num_tried,
    count(latency_us) AS num_timed,
    count(*) FILTER (status = 'ok') AS num_ok,
    count(*) FILTER (status = 'ok' AND is_stable) AS num_stable_ok,
    num_timed / num_tried AS timed_frac,
    num_ok / num_tried AS success_kept_frac,
    num_stable_ok / num_tried AS success_frac,
    (num_ok - num_stable_ok) / nullif(num_tried - num_stable_ok, 0) AS unstable_of_failures_frac,
    if(backend = 'eager', NULL, count(*) FILTER (status <> 'ok' AND eager_status = 'ok') / num_tried)
        AS backend_failed_frac,
    count(*) FILTER (stable) / nullif(num_timed, 0) AS stable_frac,
    max(attempts) AS max_attempts,
    median(compile_s) AS median_compile_s,
    avg(seconds - coalesce(compile_s, 0)) AS seconds_beyond_compile
FROM tried
GROUP BY device_id, environment_sha256, cache, backend;
