-- Graphs of whole programs (part 0), one row per signature: what folding learns from and mining searches.
-- families: those of the models that have the graph.
SELECT
    signature_sha256,
    any_value(graph_sha256) AS graph_sha256,
    any_value(op_sequence) AS op_sequence,
    any_value(num_ops) AS num_ops,
    list_sort(list(DISTINCT family) FILTER (family IS NOT NULL)) AS families
FROM graphs
JOIN graph_sources USING (signature_sha256)
LEFT JOIN models USING (model_id)
WHERE part = 0
GROUP BY signature_sha256
ORDER BY signature_sha256
