-- Step 14: the members of the chosen groups, as rows of bench_members: position counts from 0 in the order of hashes.
SELECT task_id, generate_subscripts(members, 1)::INTEGER - 1 AS position, unnest(members) AS instance_sha256
FROM bench_chosen
ORDER BY task_id, position;
