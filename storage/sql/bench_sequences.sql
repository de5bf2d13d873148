-- Step 9: what is selected from: the op sequences of each kind that have a group, the instances that each has, the
-- families of their models, the structures of the groups' members, and the largest group, which stands for the sequence
-- if it is selected for evaluation.
WITH populations AS (
    SELECT
        kind,
        op_sequence_xxh3,
        count(DISTINCT instance_sha256)::INTEGER AS num_instances,
        list_sort(list(DISTINCT family) FILTER (family IS NOT NULL)) AS families
    FROM bench_instances
    LEFT JOIN (SELECT model_id, family FROM models) USING (model_id)
    GROUP BY kind, op_sequence_xxh3
)

SELECT
    kind,
    op_sequence_xxh3,
    any_value(op_sequence) AS op_sequence,
    any_value(num_instances) AS num_instances,
    coalesce(any_value(populations.families), []) AS families,
    list_sort(list_distinct(flatten(list(structures)))) AS structures,
    count(*)::INTEGER AS num_groups,
    max(num_members) AS largest_group
FROM bench_candidates
JOIN populations USING (kind, op_sequence_xxh3)
GROUP BY kind, op_sequence_xxh3;
