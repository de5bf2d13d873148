-- How many mined subgraphs have no row in generalizations: to be made as yet, or every model that holds them failed.
SELECT count(DISTINCT subgraph_sha256) AS num_subgraphs
FROM subgraphs
ANTI JOIN generalizations USING (subgraph_sha256)
