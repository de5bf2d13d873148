-- How many mined subgraphs have no row in generalizations (not asked for as yet, or every model that holds them failed),
-- and how many graphs failed to give some.
SELECT
    count(DISTINCT subgraph_sha256) AS num_subgraphs,
    (SELECT count(DISTINCT subject) FROM current_failures WHERE step = 'generalize') AS num_failed_graphs
FROM subgraphs
ANTI JOIN generalizations USING (subgraph_sha256)
