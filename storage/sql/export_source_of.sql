-- The first model, by id, that has the graph $signature_sha256.
SELECT model_id, part, signature_sha256
FROM graph_sources
WHERE signature_sha256 = $signature_sha256
ORDER BY model_id, part
LIMIT 1;
