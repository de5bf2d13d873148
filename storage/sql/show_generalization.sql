-- What became of the subgraphs whose hash begins with $subgraph_sha256; no row where none was generalized.
SELECT * FROM generalizations WHERE starts_with(subgraph_sha256, $subgraph_sha256);
