-- What the corpus holds now, in one row, for the report that ends a refresh.
-- Redundancy is 1 - distinct graphs / rows of graph_sources (definitions.md section 1), over all sources together;
-- a model of several parts is one source.
SELECT
    num_models,
    num_sources,
    num_distinct_graphs,
    num_nodes,
    num_passed,
    num_failed,
    num_not_applicable,
    1 - num_distinct_graphs / nullif(num_parts, 0) AS redundancy_frac
FROM
    (SELECT count(*) AS num_models FROM models),
    (SELECT count(DISTINCT model_id) AS num_sources, count(*) AS num_parts FROM graph_sources),
    (
        SELECT count(DISTINCT graph_sha256) AS num_distinct_graphs, coalesce(sum(num_ops), 0)::BIGINT AS num_nodes
        FROM graphs
    ),
    (
        SELECT
            count(*) FILTER (outcome = 'passed') AS num_passed,
            count(*) FILTER (outcome = 'failed') AS num_failed,
            count(*) FILTER (outcome = 'not_applicable') AS num_not_applicable
        FROM current_constraints
    );
