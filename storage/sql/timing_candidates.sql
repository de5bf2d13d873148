-- Of the $limit instances drawn by $seed (kinds and dtypes in turns) among those of $kinds and $dtypes that move at most
-- $max_bytes (null: any), those that lack a timing under one of $backends in the environment $environment_sha256 with
-- operands $cache (or all, $again): the same call again finds what is left of the same draw. $model_ids, $instances NULL:
-- all.
WITH eligible AS (
    SELECT instance_sha256, min(kind) AS kind, min(dtype) AS dtype
    FROM instances
    JOIN subgraphs USING (subgraph_sha256)
    WHERE
        list_contains($kinds, kind)
        AND list_contains($dtypes, dtype)
        AND ($max_bytes IS NULL OR coalesce(num_bytes, 0) <= $max_bytes)
        AND ($model_ids IS NULL OR list_contains($model_ids, model_id))
        AND ($instances IS NULL OR list_contains($instances, instance_sha256))
    GROUP BY instance_sha256
),

timed AS (
    SELECT instance_sha256
    FROM timings
    WHERE
        environment_sha256 = $environment_sha256
        AND cache = $cache
        AND list_contains($backends, backend)
        AND NOT $again
    GROUP BY instance_sha256
    HAVING count(DISTINCT backend) >= len($backends)
),

drawn AS (
    SELECT
        instance_sha256,
        md5(instance_sha256 || $seed::VARCHAR) AS draw,
        row_number() OVER (PARTITION BY kind, dtype ORDER BY draw) AS turn
    FROM eligible
    ORDER BY turn, draw
    LIMIT $limit
)

SELECT instance_sha256
FROM drawn
ANTI JOIN timed USING (instance_sha256)
ORDER BY turn, draw;
