-- Step 12, after leaks were looked for: the training side, of what remains without the groups in the table bench_barred
-- (task_id, those that leak or make no task; by hand: CREATE TABLE bench_barred (task_id VARCHAR)) the largest per kind,
-- sequence and rule, of equal ones the lowest task_id; after SET VARIABLE all_groups = true (in the catalogue file,
-- corpus.duckdb) all of them.
SELECT *
FROM bench_remaining
ANTI JOIN bench_barred USING (task_id)
QUALIFY
    coalesce(getvariable('all_groups'), false)
    OR row_number() OVER (PARTITION BY kind, op_sequence_xxh3, rule ORDER BY num_members DESC, task_id) = 1;
