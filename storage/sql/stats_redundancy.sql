-- Redundancy per source: 1 - distinct graphs / rows of graph_sources (definitions.md section 1).
SELECT
    coalesce(models.source, 'unknown') AS source,
    count(*) AS traced_graphs,
    count(DISTINCT graphs.graph_sha256) AS distinct_graphs,
    1 - count(DISTINCT graphs.graph_sha256) / count(*) AS redundancy_frac
FROM graph_sources
JOIN graphs USING (signature_sha256)
LEFT JOIN models USING (model_id)
GROUP BY 1
ORDER BY traced_graphs DESC, source;
