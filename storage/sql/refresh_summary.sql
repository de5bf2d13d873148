-- What the corpus holds now, in one row, for the report that ends a refresh.
-- Redundancy is 1 - distinct graphs / rows of graph_sources (definitions.md section 1), over all sources together.
SELECT
    (SELECT count(*) FROM models) AS num_models,
    (SELECT count(*) FROM graph_sources) AS num_sources,
    (SELECT count(DISTINCT graph_sha256) FROM graphs) AS num_distinct_graphs,
    (SELECT count(*) FROM graphs) AS num_signatures,
    (SELECT coalesce(sum(num_ops), 0)::BIGINT FROM graphs) AS num_nodes,
    1 - num_distinct_graphs / nullif(num_sources, 0) AS redundancy_frac,
    (SELECT count(*) FROM constraints WHERE outcome = 'passed') AS num_passed,
    (SELECT count(*) FROM constraints WHERE outcome = 'failed') AS num_failed,
    (SELECT count(*) FROM constraints WHERE outcome = 'not_applicable') AS num_not_applicable;
