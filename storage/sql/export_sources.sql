-- Every part of every model that has a graph.
SELECT model_id, part, signature_sha256
FROM graph_sources
ORDER BY model_id, part;
