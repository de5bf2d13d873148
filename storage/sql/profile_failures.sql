-- Why instances have no success under a backend: by status; ok but noisy, its own times or eager's beside it, is
-- `unstable`. tried_frac: share of the instances tried; failures_frac: share of those without success. Unavailable ones
-- were not tried and have neither. is_eager_ok: whether eager was ok in the same run. detail: the commonest one.
WITH ended AS (
    SELECT
        latest.*,
        coalesce(eager.status = 'ok', false) AS is_eager_ok,
        CASE
            WHEN latest.status <> 'ok' THEN latest.status
            WHEN latest.stable AND (eager.backend IS NULL OR eager.stable) THEN 'success'
            ELSE 'unstable'
        END AS cause
    FROM profile_latest AS latest
    LEFT JOIN (FROM timings WHERE backend = 'eager') AS eager
        USING (instance_sha256, device_id, environment_sha256, cache, run_id)
),

counted AS (
    SELECT
        device_id,
        environment_sha256,
        cache,
        backend,
        cause,
        is_eager_ok,
        cause <> 'unavailable' AS is_tried,
        count(*) AS num_instances,
        mode(detail) AS detail
    FROM ended
    GROUP BY ALL
),

shared AS (
    SELECT
        *,
        if(is_tried, num_instances / sum(num_instances) OVER every, NULL) AS tried_frac,
        if(is_tried, num_instances / sum(num_instances) FILTER (cause <> 'success') OVER every, NULL) AS failures_frac
    FROM counted
    WINDOW every AS (PARTITION BY device_id, environment_sha256, cache, backend, is_tried)
)

SELECT * EXCLUDE (is_tried, detail), detail
FROM shared
WHERE cause <> 'success';
