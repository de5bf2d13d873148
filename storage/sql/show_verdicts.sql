-- The verdicts on the graph $signature_sha256, levels beside each other from low to high.
SELECT "constraint", level, outcome, reason, detail
FROM constraints
WHERE signature_sha256 = $signature_sha256
ORDER BY "constraint", list_position(['static', 'fake', 'real'], level);
