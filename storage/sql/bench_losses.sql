-- Why groups are no tasks: by kind, side and reason, and as a share of the groups of that kind.
WITH groups AS (
    SELECT kind FROM bench_tasks
    UNION ALL
    SELECT kind FROM bench_dropped
),

totals AS (
    SELECT kind, count(*) AS num_groups FROM groups GROUP BY kind
)

SELECT
    kind,
    split,
    reason,
    count(*) AS num_dropped,
    count(DISTINCT op_sequence_xxh3) AS num_sequences,
    count(*) / any_value(num_groups) AS dropped_frac
FROM bench_dropped
JOIN totals USING (kind)
GROUP BY kind, split, reason
ORDER BY list_position(['fusible', 'classical', 'single_op'], kind), split, num_dropped DESC, reason;
