-- The newest timings of the instances $instances, by backend and where they hold.
SELECT
    instance_sha256,
    backend,
    device_id AS device,
    environment_sha256,
    cache,
    status,
    latency_us,
    device_us,
    iqr_frac,
    stable
FROM profile_latest
SEMI JOIN (SELECT unnest($instances::VARCHAR[]) AS instance_sha256) USING (instance_sha256)
ORDER BY instance_sha256, device, environment_sha256, cache, backend;
