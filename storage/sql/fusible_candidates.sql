-- Curves for $target by windows whose graph was not searched for fusible subgraphs under $grammar_id. Exact curves are a
-- check of these, and are left out: what is mined must not depend on which was there first.
SELECT signature_sha256, graph_sha256, op_sequence, kernels
FROM kernel_curves
JOIN graphs USING (signature_sha256)
WHERE
    target = $target
    AND counter = $counter
    AND torch_version = $torch_version
    AND algorithm = $algorithm
    AND NOT is_exact
    AND signature_sha256 NOT IN (
        SELECT signature_sha256 FROM mined_graphs WHERE kind = 'fusible' AND grammar_id = $grammar_id
    )
ORDER BY signature_sha256
