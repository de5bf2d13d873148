-- Graphs of whole programs without a curve for $target as this torch and algorithm make it, the smallest first, with one
-- model each; `num_ops` counts their ops. $model_ids NULL: of all models. `has_failed`: as made so, its curve failed for
-- good ($failed_so begins what such failures say).
SELECT
    signature_sha256,
    min(model_id) AS model_id,
    any_value(num_ops) AS num_ops,
    signature_sha256 IN (
        SELECT subject
        FROM failures
        WHERE step = 'curve' AND starts_with(detail, $failed_so) AND NOT list_contains($open_reasons, reason)
    ) AS has_failed
FROM graphs
JOIN graph_sources USING (signature_sha256)
WHERE
    part = 0
    AND num_ops > 0
    AND ($model_ids IS NULL OR list_contains($model_ids, model_id))
    AND signature_sha256 NOT IN (
        SELECT signature_sha256
        FROM kernel_curves
        WHERE
            target = $target
            AND counter = $counter
            AND is_exact = $is_exact
            AND torch_version = $torch_version
            AND algorithm = $algorithm
    )
GROUP BY signature_sha256
ORDER BY num_ops, signature_sha256
