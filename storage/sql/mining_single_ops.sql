-- Single-op keys that the table subgraphs lacks, each with its op and how many operands it takes.
SELECT single_op_sha256, any_value(op) AS op, any_value(len(list_distinct(operands))) AS num_inputs
FROM nodes
SEMI JOIN (SELECT signature_sha256 FROM graph_sources WHERE part = 0) USING (signature_sha256)
ANTI JOIN (SELECT subgraph_sha256 AS single_op_sha256 FROM subgraphs WHERE kind = 'single_op') USING (single_op_sha256)
GROUP BY single_op_sha256
ORDER BY single_op_sha256
