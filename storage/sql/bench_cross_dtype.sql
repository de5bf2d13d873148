-- Step 6, rule cross_dtype: per kind, op sequence and shape bucket one group, of one subgraph at one shape config in each
-- dtype that it has there: the subgraph and config with the most dtypes, of these the one of the lowest instance hash.
-- One that has a single dtype there is a group of one.
WITH recipes AS (
    SELECT
        kind,
        op_sequence_xxh3,
        shape_bucket,
        subgraph_sha256,
        shape_config,
        list_sort(list(DISTINCT instance_sha256)) AS members
    FROM bench_instances
    GROUP BY kind, op_sequence_xxh3, shape_bucket, subgraph_sha256, shape_config
)

SELECT kind, 'cross_dtype' AS rule, op_sequence_xxh3, members
FROM recipes
QUALIFY row_number() OVER (
    PARTITION BY kind, op_sequence_xxh3, shape_bucket
    ORDER BY len(members) DESC, members[1], members, subgraph_sha256, shape_config
) = 1;
