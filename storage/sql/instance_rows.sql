-- The rows of the instance $instance_sha256 (one for each subgraph that it is an instance of), each with its base, the
-- range of a stored graph that it is rendered from, and its variant, null where there is none of that signature.
SELECT
    instances.*,
    generalizations.signature_sha256 AS base_signature_sha256,
    generalizations.start AS base_start,
    generalizations."end" AS base_end,
    variants.sizes,
    variants.shape_table,
    variants.is_rebuilt
FROM instances
LEFT JOIN generalizations USING (subgraph_sha256)
LEFT JOIN variants ON
    variants.model_id = instances.model_id
    AND variants.shape_config = instances.shape_config
    AND variants.dtype = instances.dtype
    AND variants.signature_sha256 = instances.signature_sha256
WHERE instance_sha256 = $instance_sha256
ORDER BY instances.subgraph_sha256, instances.shape_config, instances.dtype;
