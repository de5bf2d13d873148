-- The tasks by kind and side, with their sizes (members per task): the figures of the paper's section 3.4.
SELECT
    kind,
    split,
    count(*) AS num_tasks,
    count(DISTINCT op_sequence_xxh3) AS num_sequences,
    sum(num_members)::BIGINT AS num_subgraphs,
    min(num_members) AS smallest,
    median(num_members) AS median_size,
    avg(num_members) AS mean_size,
    max(num_members) AS largest,
    avg((num_members = 1)::INTEGER) AS of_one_frac,
    count(DISTINCT rule) AS num_rules
FROM bench_tasks
GROUP BY kind, split
ORDER BY list_position(['fusible', 'classical', 'single_op'], kind), split;
