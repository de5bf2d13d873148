-- What the newest algorithm that checked them found of the instances $instances (names end in /<version>).
SELECT
    instance_sha256,
    algorithm,
    num_draws,
    reason,
    zeros_level,
    ones_level,
    mean_level,
    identity_level
FROM bench_checks
SEMI JOIN (SELECT unnest($instances::VARCHAR[]) AS instance_sha256) USING (instance_sha256)
QUALIFY row_number() OVER (PARTITION BY instance_sha256 ORDER BY len(algorithm) DESC, algorithm DESC) = 1;
