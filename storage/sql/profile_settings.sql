-- What was timed: per device, environment, state of the operands and backend, how many instances, in how many runs, how
-- many times by the kernels' own clock, by kind and dtype of the instances, with the facts of the environment.
SELECT
    latest.device_id,
    latest.environment_sha256,
    latest.cache,
    latest.backend,
    device_kind,
    coalesce(device_name, latest.device_id) AS device_name,
    driver,
    torch_version,
    triton_version,
    num_threads,
    environments."os" AS os,
    count(*) AS num_instances,
    count(latency_us) AS num_timed,
    count(device_us) AS num_device_timed,
    count(DISTINCT subgraph_sha256) AS num_subgraphs,
    count(DISTINCT model_id) AS num_models,
    histogram(coalesce(kind, 'unknown')) AS kinds,
    histogram(coalesce(dtype, 'unknown')) AS dtypes,
    count(DISTINCT run_id) AS num_runs,
    min(started_at) AS first_started_at,
    max(started_at) AS last_started_at
FROM profile_latest AS latest
LEFT JOIN environments USING (environment_sha256)
LEFT JOIN profile_instances USING (instance_sha256)
GROUP BY ALL;
