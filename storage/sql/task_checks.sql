-- What running them found of the instances $instances: their own check, else that of the instance which stands for their
-- structure and dtype (checked_instance); of the newest algorithm (names end in /<version>).
WITH asked AS (
    SELECT DISTINCT instance_sha256, structure_sha256, dtype
    FROM instances
    SEMI JOIN (SELECT unnest($instances::VARCHAR[]) AS instance_sha256) USING (instance_sha256)
),

checked AS (
    SELECT bench_checks.*, structure_sha256, dtype
    FROM bench_checks
    JOIN (SELECT DISTINCT instance_sha256, structure_sha256, dtype FROM instances) USING (instance_sha256)
)

SELECT
    asked.instance_sha256,
    checked.instance_sha256 AS checked_instance,
    algorithm,
    num_draws,
    reason,
    zeros_level,
    ones_level,
    mean_level,
    identity_level
FROM asked
JOIN checked USING (structure_sha256, dtype)
QUALIFY
    row_number() OVER (
        PARTITION BY asked.instance_sha256
        ORDER BY len(algorithm) DESC, algorithm DESC, asked.instance_sha256 <> checked_instance, checked_instance
    ) = 1;
