-- Curves for $target whose graph was not searched for fusible subgraphs under $grammar_id; where a graph has an exact
-- curve, that one.
SELECT signature_sha256, graph_sha256, op_sequence, kernels
FROM kernel_curves
JOIN graphs USING (signature_sha256)
WHERE
    target = $target
    AND counter = $counter
    AND torch_version = $torch_version
    AND algorithm = $algorithm
    AND signature_sha256 NOT IN (
        SELECT signature_sha256 FROM mined_graphs WHERE kind = 'fusible' AND grammar_id = $grammar_id
    )
QUALIFY row_number() OVER (PARTITION BY signature_sha256 ORDER BY is_exact DESC) = 1
ORDER BY signature_sha256
