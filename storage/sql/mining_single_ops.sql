-- Single-op keys that the table subgraphs lacks, each with how many operands it takes and a call that has it.
SELECT
    single_op_sha256,
    any_value(len(list_distinct(operands))) AS num_inputs,
    min({'op': op, 'target': target, 'literals': literals}) AS call
FROM nodes
SEMI JOIN (SELECT signature_sha256 FROM graph_sources WHERE part = 0) USING (signature_sha256)
ANTI JOIN (SELECT subgraph_sha256 AS single_op_sha256 FROM subgraphs WHERE kind = 'single_op') USING (single_op_sha256)
GROUP BY single_op_sha256
ORDER BY single_op_sha256
