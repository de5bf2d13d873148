-- What became of the subgraph $subgraph_sha256; no row where it was not generalized.
SELECT * FROM generalizations WHERE subgraph_sha256 = $subgraph_sha256;
