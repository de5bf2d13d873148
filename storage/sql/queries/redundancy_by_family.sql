-- Redundancy by family
-- How many traced models of a family are how many programs; redundancy is 1 - distinct graphs / rows of graph_sources.
-- A compiler's cache hits at that rate; a sample of the family needs that many graphs and no more.
SELECT
    coalesce(family, 'unknown') AS family,
    count(DISTINCT model_id) AS models,
    count(DISTINCT graph_sha256) AS distinct_graphs,
    count(DISTINCT structure_sha256) AS distinct_structures,
    1 - count(DISTINCT graph_sha256) / count(*) AS redundancy_frac
FROM graph_sources
JOIN graphs USING (signature_sha256)
LEFT JOIN models USING (model_id)
GROUP BY ALL
ORDER BY models DESC, family;
