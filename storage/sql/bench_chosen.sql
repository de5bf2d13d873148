-- Step 13: both sides, as rows of bench_tasks, with the members of each.
SELECT
    task_id,
    kind,
    split,
    rule,
    op_sequence,
    op_sequence_xxh3,
    num_ops,
    num_members,
    num_shapes,
    dtypes,
    families,
    structures,
    coalesce(
        getvariable('sigma'), (SELECT any_value(config ->> '$.sigma')::INTEGER FROM bench_builds), 16
    )::INTEGER AS sigma,
    'passnet-bench/1' AS algorithm,
    members
FROM (
    SELECT 'eval' AS split, * FROM bench_evaluation
    UNION ALL BY NAME
    SELECT 'train' AS split, * FROM bench_training
)
ORDER BY task_id;
