-- Step 3, rule single: one instance in sigma, drawn by its own hash, so that instances that are added later change nothing
-- here; each is a group of its own. Sigma is the newest build's, 16 where there is none; another one by SET VARIABLE
-- sigma = ..., in the catalogue file: duckdb -readonly corpus.duckdb.
SELECT kind, 'single' AS rule, op_sequence_xxh3, [instance_sha256] AS members
FROM bench_buckets
WHERE instance_xxh3 % coalesce(
        getvariable('sigma'), (SELECT any_value(config ->> '$.sigma')::INTEGER FROM bench_builds), 16
    ) = 0;
