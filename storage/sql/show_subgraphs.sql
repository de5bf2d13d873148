-- Subgraphs whose hash begins with $prefix, with their support and text.
SELECT subgraphs.*, support, num_occurrences, model_py
FROM subgraphs
JOIN subgraph_support USING (subgraph_sha256, kind)
LEFT JOIN subgraph_texts USING (subgraph_sha256)
WHERE starts_with(subgraph_sha256, $prefix)
ORDER BY subgraph_sha256, kind;
