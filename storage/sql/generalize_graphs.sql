-- Graphs that subgraphs may be cut out of: whole programs of a model that was traced itself, one model each (those of the
-- Hub last; is_recorded: imported or captured, it cannot be built). $model_ids NULL: graphs of all models. Models whose
-- graph failed for good are left out.
SELECT signature_sha256, model_id, source IN ('user', 'import') AS is_recorded
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
ORDER BY is_recorded, signature_sha256
