-- Step 11: what training may be taken from, before leaks are looked for: groups of sequences that are selected in no
-- kind. Reads bench_selection, as bench_evaluation does.
SELECT *
FROM bench_candidates
ANTI JOIN bench_selection USING (op_sequence_xxh3);
