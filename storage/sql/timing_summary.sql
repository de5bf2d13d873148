-- What stands in the environment $environment_sha256 with operands $cache, by backend (view `profile_success`).
SELECT
    backend,
    num_tried AS instances,
    timed_frac,
    success_kept_frac AS ok_frac,
    stable_frac,
    median_compile_s,
    seconds_beyond_compile
FROM profile_success
WHERE environment_sha256 = $environment_sha256 AND cache = $cache
ORDER BY backend <> 'eager', backend;
