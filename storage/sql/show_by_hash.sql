-- Graphs of which one of the three hashes begins with $prefix, and the first model of each.
SELECT
    signature_sha256,
    graph_sha256,
    structure_sha256,
    num_ops,
    (SELECT min(model_id) FROM graph_sources WHERE graph_sources.signature_sha256 = graphs.signature_sha256) AS model_id
FROM graphs
WHERE
    starts_with(signature_sha256, $prefix) OR starts_with(graph_sha256, $prefix) OR starts_with(structure_sha256, $prefix)
ORDER BY model_id, signature_sha256;
