-- Subgraphs of $kinds without a row in generalizations, by the graph that each is to be cut out of: of the graphs that
-- hold it and have a model (those that have none, imported or captured, come last), the one of the lowest signature. One
-- model each, which was traced itself. $model_ids NULL: graphs of all models. Models whose graph failed for good are left
-- out. What asks for the fewest ops comes first.
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

single_ops AS (
    SELECT single_op_sha256 AS subgraph_sha256, signature_sha256, "index" AS start, "index" + 1 AS "end"
    FROM nodes
    SEMI JOIN (SELECT subgraph_sha256 AS single_op_sha256 FROM subgraphs WHERE kind = 'single_op') USING (single_op_sha256)
    WHERE list_contains($kinds, 'single_op')
),

places AS (
    SELECT subgraph_sha256, signature_sha256, start, "end", model_id, is_recorded, is_single_op
    FROM (
        SELECT subgraph_sha256, signature_sha256, start, "end", false AS is_single_op
        FROM occurrences
        WHERE list_contains($kinds, kind)
        UNION ALL
        SELECT *, true FROM single_ops
    )
    JOIN usable USING (signature_sha256)
    ANTI JOIN generalizations USING (subgraph_sha256)
    QUALIFY row_number() OVER (PARTITION BY subgraph_sha256 ORDER BY is_recorded, signature_sha256, start, "end") = 1
)

SELECT
    signature_sha256,
    any_value(model_id) AS model_id,
    any_value(is_recorded) AS is_recorded,
    list(
        {'subgraph_sha256': subgraph_sha256, 'start': start, 'end': "end", 'is_single_op': is_single_op}
        ORDER BY start, "end"
    ) AS places
FROM places
GROUP BY signature_sha256
ORDER BY max("end"), signature_sha256
