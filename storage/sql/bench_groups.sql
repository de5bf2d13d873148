-- Step 7: the groups of all rules, each named task_id: the SHA-256 of rule and members, sorted, one a line (the last line
-- not ended). The same instances may be both fusible and classical; their group is then of the first kind of fusible,
-- classical, single_op, and no task is counted in two kinds.
WITH found AS (
    FROM bench_single
    UNION ALL BY NAME
    FROM bench_triple
    UNION ALL BY NAME
    FROM bench_cross_shape
    UNION ALL BY NAME
    FROM bench_cross_dtype
),

named AS (
    SELECT sha256(rule || chr(10) || array_to_string(members, chr(10))) AS task_id, *, len(members)::INTEGER AS num_members
    FROM found
)

SELECT task_id, kind, rule, op_sequence_xxh3, num_members, members
FROM named
QUALIFY row_number() OVER (
    PARTITION BY task_id ORDER BY list_position(['fusible', 'classical', 'single_op'], kind), op_sequence_xxh3
) = 1;
