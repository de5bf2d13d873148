-- The tasks of $split and $kinds (NULL: of any), by task_id.
SELECT task_id, split, kind
FROM bench_tasks
WHERE ($split IS NULL OR split = $split) AND ($kinds IS NULL OR list_contains($kinds, kind))
ORDER BY task_id;
