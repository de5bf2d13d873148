-- The verdicts on the graph $signature_sha256.
SELECT "constraint", outcome, level, reason, detail
FROM constraints
WHERE signature_sha256 = $signature_sha256
ORDER BY "constraint";
