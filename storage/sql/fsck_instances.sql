-- A sample of instances with their bases, as `instance_rows` has them: the $limit lowest hashes, which are as good as
-- drawn at random.
SELECT
    instances.*,
    generalizations.signature_sha256 AS base_signature_sha256,
    generalizations.start AS base_start,
    generalizations."end" AS base_end
FROM instances
JOIN generalizations USING (subgraph_sha256)
ORDER BY instance_sha256, subgraph_sha256, shape_config, instances.dtype
LIMIT $limit;
