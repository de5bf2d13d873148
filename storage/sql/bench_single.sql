-- Step 3, rule single: one instance in sigma (16, or SET VARIABLE sigma = ...), drawn by its own hash, so that instances
-- that are added later change nothing here; each is a group of its own.
SELECT kind, 'single' AS rule, op_sequence_xxh3, [instance_sha256] AS members
FROM bench_buckets
WHERE instance_xxh3 % coalesce(getvariable('sigma'), 16) = 0;
