-- The graph $signature_sha256 and its text.
SELECT graphs.*, model_py
FROM graphs
JOIN graph_texts USING (signature_sha256)
WHERE graphs.signature_sha256 = $signature_sha256;
