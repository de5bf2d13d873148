-- What each op of the graph $signature_sha256 returns, in order.
SELECT "index", outputs
FROM nodes
WHERE signature_sha256 = $signature_sha256
ORDER BY "index";
