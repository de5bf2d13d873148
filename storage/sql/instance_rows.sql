-- The rows of the instances $instances (one for each subgraph that they are instances of), each with its base, the range
-- of a stored graph that it is rendered from, and its variant, null where there is none of that signature.
SELECT
    instances.*,
    generalizations.signature_sha256 AS base_signature_sha256,
    generalizations.start AS base_start,
    generalizations."end" AS base_end,
    variants.sizes,
    variants.shape_table,
    variants.is_rebuilt
FROM instances
SEMI JOIN (SELECT unnest($instances::VARCHAR[]) AS instance_sha256) AS wanted USING (instance_sha256)
LEFT JOIN generalizations USING (subgraph_sha256)
LEFT JOIN variants ON
    variants.model_id = instances.model_id
    AND variants.shape_config = instances.shape_config
    AND variants.dtype = instances.dtype
    AND variants.signature_sha256 = instances.signature_sha256
ORDER BY instance_sha256, instances.subgraph_sha256, instances.shape_config, instances.dtype;
