-- Graphs of the model $model_id, whether given in full or without its source.
SELECT graphs.signature_sha256, graph_sha256, structure_sha256, num_ops, model_id
FROM graph_sources
JOIN graphs USING (signature_sha256)
WHERE model_id = $model_id OR ends_with(model_id, '/' || $model_id)
ORDER BY model_id, part;
