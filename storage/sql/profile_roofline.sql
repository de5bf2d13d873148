-- The newest timings beside the least time that the device's peaks allow: roofline_us, the longer of bytes over
-- bandwidth and FLOP over peak (device_peaks); headroom is the latency over it, kernel_headroom the kernels' own time.
-- Null where the device's peaks or the instance's bytes are unknown: peaks of CPUs are not listed. FLOP that are
-- unknown count as none. The peak of float32 is that of TF32 where the instance convolves, since torch's default lets
-- cuDNN use it. Warm operands may come from the cache, so that warm timings may beat this roof.
WITH placed AS (
    SELECT
        latest.device_id,
        latest.environment_sha256,
        latest.cache,
        latest.backend,
        latest.instance_sha256,
        facts.kind,
        facts.dtype,
        facts.num_ops,
        facts.num_bytes,
        facts.num_flop,
        facts.num_flop / nullif(facts.num_bytes, 0) AS arithmetic_intensity,
        latest.latency_us,
        latest.device_us,
        latest.stable,
        1e6 * facts.num_bytes / peaks.memory_bytes_per_s AS memory_us,
        1e6 * facts.num_flop / CASE
            WHEN facts.dtype = 'float16' THEN peaks.float16_flop_per_s
            WHEN facts.dtype = 'bfloat16' THEN peaks.bfloat16_flop_per_s
            WHEN list_any_value(list_filter(facts.op_sequence, lambda op: op LIKE 'conv%')) IS NOT NULL
                THEN peaks.tf32_flop_per_s
            ELSE peaks.float32_flop_per_s
        END AS compute_us
    FROM profile_latest AS latest
    JOIN profile_instances AS facts USING (instance_sha256)
    LEFT JOIN environments USING (environment_sha256)
    LEFT JOIN device_peaks AS peaks USING (device_name)
    WHERE latest.status = 'ok'
)

SELECT
    *,
    CASE WHEN memory_us IS NULL THEN NULL WHEN compute_us > memory_us THEN 'compute' ELSE 'memory' END AS bound,
    CASE WHEN memory_us IS NOT NULL THEN greatest(memory_us, compute_us) END AS roofline_us,  -- greatest skips nulls
    latency_us / nullif(roofline_us, 0) AS headroom,
    device_us / nullif(roofline_us, 0) AS kernel_headroom
FROM placed;
