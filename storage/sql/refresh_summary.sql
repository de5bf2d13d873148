-- What the corpus holds now, in one row, for the report that ends a refresh.
-- Redundancy is 1 - distinct graphs / rows of graph_sources (definitions.md section 1), over all sources together.
SELECT *, 1 - num_distinct_graphs / nullif(num_sources, 0) AS redundancy_frac
FROM
    (SELECT count(*) AS num_models FROM models),
    (SELECT count(*) AS num_sources FROM graph_sources),
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
