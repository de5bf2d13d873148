-- Eager beside each other backend, instance by instance: the newest timing of the backend and eager's of the same run,
-- since only times that were interleaved in one process are compared. Both have times, right outputs or not. speedup:
-- eager's latency over the backend's, end to end (host included); kernel_speedup: the same of kernels alone, null on a
-- CPU, whose kernels have no clock of their own. overhead_us: what the backend costs above eager on an empty graph in
-- that run. is_stable: both are. is_valid: also both are ok; the figures of the other views are over these.
SELECT
    latest.device_id,
    latest.environment_sha256,
    latest.cache,
    latest.backend,
    latest.run_id,
    latest.instance_sha256,
    facts.subgraph_sha256,
    facts.kind,
    facts.shape_config,
    facts.dtype,
    facts.num_ops,
    facts.op_sequence,
    facts.model_id,
    facts.family,
    facts.domain,
    eager.status AS eager_status,
    latest.status,
    eager.latency_us AS eager_us,
    latest.latency_us,
    eager.latency_us / latest.latency_us AS speedup,
    eager.device_us AS eager_device_us,
    latest.device_us,
    eager.device_us / nullif(latest.device_us, 0) AS kernel_speedup,
    eager.num_kernels AS eager_num_kernels,
    latest.num_kernels,
    overhead.over_eager_us AS overhead_us,
    latest.compile_s,
    eager.stable AND latest.stable AS is_stable,
    eager.stable AND latest.stable AND eager.status = 'ok' AND latest.status = 'ok' AS is_valid,
    latest.overhead_dominated,
    latest.bitwise_equal,
    latest.max_abs_diff,
    latest.max_rel_diff,
    latest.tolerance_level
FROM profile_latest AS latest
JOIN timings AS eager
    USING (instance_sha256, device_id, environment_sha256, cache, run_id)
LEFT JOIN profile_instances AS facts USING (instance_sha256)
LEFT JOIN profile_overhead AS overhead
    ON overhead.run_id = latest.run_id AND overhead.device_id = latest.device_id AND overhead.backend = latest.backend
WHERE
    latest.backend <> 'eager'
    AND eager.backend = 'eager'
    AND latest.latency_us > 0
    AND eager.latency_us > 0;
