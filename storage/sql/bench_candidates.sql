-- Step 8: the groups with what tasks, splits and leakage need to know of them; all of bench_tasks but the split, and the
-- members. num_shapes: shape buckets; dtypes, families, structures: those of the members, sorted, each once. A family is
-- that of a model which the instance was traced from; one that is not known is left out.
WITH facts AS (
    SELECT
        kind,
        instance_sha256,
        min(shape_bucket) AS shape_bucket,
        list(DISTINCT dtype) AS dtypes,
        list(DISTINCT family) FILTER (family IS NOT NULL) AS families,
        list(DISTINCT structure_sha256) AS structures
    FROM bench_instances
    LEFT JOIN (SELECT model_id, family FROM models) USING (model_id)
    GROUP BY kind, instance_sha256
),

described AS (
    SELECT
        task_id,
        count(DISTINCT shape_bucket)::INTEGER AS num_shapes,
        list_sort(list_distinct(flatten(list(dtypes)))) AS dtypes,
        list_sort(list_distinct(flatten(list(coalesce(families, []))))) AS families,
        list_sort(list_distinct(flatten(list(structures)))) AS structures
    FROM (SELECT task_id, kind, unnest(members) AS instance_sha256 FROM bench_groups)
    JOIN facts USING (kind, instance_sha256)
    GROUP BY task_id
),

sequences AS (
    SELECT op_sequence_xxh3, any_value(op_sequence) AS op_sequence FROM subgraphs GROUP BY op_sequence_xxh3
)

SELECT
    task_id,
    kind,
    rule,
    op_sequence,
    op_sequence_xxh3,
    len(op_sequence)::INTEGER AS num_ops,
    num_members,
    num_shapes,
    dtypes,
    families,
    structures,
    members
FROM bench_groups
JOIN described USING (task_id)
JOIN sequences USING (op_sequence_xxh3);
