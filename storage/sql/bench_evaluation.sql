-- Step 10, after selection: the evaluation side, the largest group of each selected sequence (of equal ones the lowest
-- task_id). Reads the table bench_selection (kind, op_sequence_xxh3), which selection fills; by hand, for instance:
-- CREATE TABLE bench_selection AS SELECT kind, op_sequence_xxh3 FROM bench_sequences USING SAMPLE 200.
SELECT *
FROM bench_candidates
SEMI JOIN bench_selection USING (kind, op_sequence_xxh3)
QUALIFY row_number() OVER (PARTITION BY kind, op_sequence_xxh3 ORDER BY num_members DESC, task_id) = 1;
