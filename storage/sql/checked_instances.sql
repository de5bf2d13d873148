-- What checks by $algorithm said of $instances, those not checked left out.
SELECT instance_sha256, reason, detail
FROM bench_checks
WHERE algorithm = $algorithm AND list_contains($instances, instance_sha256)
ORDER BY instance_sha256;
