-- How widely each subgraph is used: distinct programs that hold it (support), places in all graphs, families.
-- A place that two grammars found counts once.
WITH places AS (
    SELECT DISTINCT subgraph_sha256, kind, signature_sha256, start
    FROM occurrences
    UNION ALL
    SELECT single_op_sha256, 'single_op', signature_sha256, "index"
    FROM nodes
    SEMI JOIN (SELECT subgraph_sha256 AS single_op_sha256 FROM subgraphs WHERE kind = 'single_op') USING (single_op_sha256)
)
SELECT subgraph_sha256, kind, count(DISTINCT graph_sha256) AS support, count(*) AS num_occurrences
FROM places JOIN graphs USING (signature_sha256)
GROUP BY subgraph_sha256, kind
