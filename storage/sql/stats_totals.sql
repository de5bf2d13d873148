-- One row: what the corpus holds. Redundancy is 1 - distinct graphs / rows of graph_sources (definitions.md section 1).
SELECT
    (SELECT count(*) FROM models) AS models,
    (SELECT count(DISTINCT model_id) FROM graph_sources) AS traced_models,
    (SELECT count(*) FROM current_failures) AS failures,
    (SELECT count(*) FROM graph_sources) AS traced_graphs,
    count(*) AS signatures,
    count(DISTINCT graph_sha256) AS distinct_graphs,
    count(DISTINCT structure_sha256) AS distinct_structures,
    1 - count(DISTINCT graph_sha256) / nullif((SELECT count(*) FROM graph_sources), 0) AS redundancy_frac,
    coalesce(sum(num_ops), 0)::BIGINT AS nodes,
    median(num_ops) AS median_ops,
    max(num_ops) AS max_ops
FROM graphs;
