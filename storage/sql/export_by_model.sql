-- The parts of the model $model_id, whether given in full or without its source.
SELECT model_id, part, signature_sha256
FROM graph_sources
WHERE model_id = $model_id OR ends_with(model_id, '/' || $model_id)
ORDER BY model_id, part;
