-- The models that have the graph $signature_sha256.
SELECT model_id, part, tracer, break_reason, family, num_parameters, licence, torch_version, traced_at
FROM graph_sources
LEFT JOIN models USING (model_id)
WHERE signature_sha256 = $signature_sha256
ORDER BY traced_at, model_id, part;
