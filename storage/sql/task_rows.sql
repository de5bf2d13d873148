-- The tasks $task_ids, each with the instances that are its members, by position.
WITH wanted AS (
    FROM bench_tasks
    SEMI JOIN (SELECT unnest($task_ids::VARCHAR[]) AS task_id) USING (task_id)
),

listed AS (
    SELECT task_id, list(instance_sha256 ORDER BY position) AS members
    FROM bench_members
    SEMI JOIN wanted USING (task_id)
    GROUP BY task_id
)

SELECT wanted.*, coalesce(listed.members, []) AS members
FROM wanted
LEFT JOIN listed USING (task_id);
