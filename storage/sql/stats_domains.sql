-- Graphs per domain of the models they came from; a graph of two domains counts in both.
SELECT
    coalesce(models.domain, 'unknown') AS domain,
    count(DISTINCT graph_sources.model_id) AS traced_models,
    count(DISTINCT graphs.graph_sha256) AS distinct_graphs
FROM graph_sources
JOIN graphs USING (signature_sha256)
LEFT JOIN models USING (model_id)
GROUP BY 1
ORDER BY distinct_graphs DESC, domain;
