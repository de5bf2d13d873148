-- What submissions that compute nothing reach on each task: the smallest t at which zeros, ones, each output's mean, or an
-- operand in the output's place pass on every member; null where one member is never passed so, or was not run. A member
-- is represented by the cheapest instance of its structure and dtype (bench_cheapest), which need not be a member: at other
-- sizes of the same structure a null submission may reach less or more. num_checked: members so represented.
WITH runs AS (
    SELECT
        structure_sha256,
        dtype,
        any_value(zeros_level) AS zeros_level,
        any_value(ones_level) AS ones_level,
        any_value(mean_level) AS mean_level,
        any_value(identity_level) AS identity_level
    FROM bench_checks
    JOIN (SELECT DISTINCT instance_sha256, structure_sha256, dtype FROM instances) USING (instance_sha256)
    GROUP BY structure_sha256, dtype
),

members AS (
    SELECT DISTINCT task_id, instance_sha256, structure_sha256, dtype
    FROM bench_members
    JOIN (SELECT instance_sha256, structure_sha256, dtype FROM instances) USING (instance_sha256)
)

SELECT
    task_id,
    count(runs.structure_sha256) AS num_checked,
    CASE WHEN count(*) = count(zeros_level) THEN max(zeros_level) END AS zeros_level,
    CASE WHEN count(*) = count(ones_level) THEN max(ones_level) END AS ones_level,
    CASE WHEN count(*) = count(mean_level) THEN max(mean_level) END AS mean_level,
    CASE WHEN count(*) = count(identity_level) THEN max(identity_level) END AS identity_level
FROM members
LEFT JOIN runs USING (structure_sha256, dtype)
GROUP BY task_id;
