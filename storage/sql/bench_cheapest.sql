-- Step 15, at any time after step 8: what to run of the groups in the table bench_asked (task_id): for each of their
-- members' structures in each dtype the instance of them that moves the fewest bytes (of equals the lowest hash), whether
-- or not it is a member. What computes nothing does so at every size.
WITH asked AS (
    SELECT DISTINCT task_id, kind, unnest(members) AS instance_sha256
    FROM bench_candidates
    SEMI JOIN bench_asked USING (task_id)
),

forms AS (
    SELECT DISTINCT task_id, structure_sha256, dtype
    FROM asked
    JOIN (SELECT instance_sha256, structure_sha256, dtype FROM instances) USING (instance_sha256)
),

cheapest AS (
    SELECT structure_sha256, dtype, instance_sha256
    FROM instances
    SEMI JOIN forms USING (structure_sha256, dtype)
    QUALIFY row_number() OVER (PARTITION BY structure_sha256, dtype ORDER BY num_bytes, instance_sha256) = 1
)

SELECT task_id, instance_sha256
FROM forms
JOIN cheapest USING (structure_sha256, dtype);
