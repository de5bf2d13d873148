-- Subgraphs without a row in generalizations, by the graph that each is to be cut out of: of the graphs that hold it and
-- have a model (those that have none, imported or captured, come last), the one of the lowest signature. One model each,
-- which was traced itself. $model_ids NULL: graphs of all models. Models whose graph failed for good are left out.
WITH usable AS (
    SELECT signature_sha256, model_id, source, source IN ('user', 'import') AS is_recorded
    FROM graph_sources
    JOIN models USING (model_id)
    WHERE
        part = 0
        AND traced_from IS NULL
        AND ($model_ids IS NULL OR list_contains($model_ids, model_id))
        AND (signature_sha256, model_id) NOT IN (
            SELECT (subject, split_part(detail, ': ', 1))
            FROM failures
            WHERE step = 'generalize' AND NOT list_contains($open_reasons, reason)
        )
    QUALIFY row_number() OVER (PARTITION BY signature_sha256 ORDER BY is_recorded, source = 'hub', model_id) = 1
),

places AS (
    SELECT subgraph_sha256, signature_sha256, start, "end", model_id, is_recorded
    FROM occurrences
    JOIN usable USING (signature_sha256)
    ANTI JOIN generalizations USING (subgraph_sha256)
    WHERE kind IN ('classical', 'fusible')
    QUALIFY row_number() OVER (PARTITION BY subgraph_sha256 ORDER BY is_recorded, signature_sha256, start, "end") = 1
)

SELECT
    signature_sha256,
    any_value(model_id) AS model_id,
    any_value(is_recorded) AS is_recorded,
    list({'subgraph_sha256': subgraph_sha256, 'start': start, 'end': "end"} ORDER BY start, "end") AS places
FROM places
GROUP BY signature_sha256
ORDER BY signature_sha256
