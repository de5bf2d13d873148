-- Where fusible subgraphs were found, and by the curves of which target: a place that two targets find has two rows.
-- Such an occurrence's grammar_id is the SHA-256 of these lines (`tasks.mine_fusible.curves_id`). target is null for
-- curves that others have replaced since (of another torch or algorithm).
SELECT subgraph_sha256, signature_sha256, start, "end", target, torch_version, grammar_id
FROM occurrences
LEFT JOIN (
    SELECT DISTINCT
        sha256(concat_ws(chr(10), 'passnet-fusible/1', algorithm, counter, target, torch_version)) AS grammar_id,
        target,
        torch_version
    FROM kernel_curves
    WHERE NOT is_exact
) USING (grammar_id)
WHERE kind = 'fusible'
