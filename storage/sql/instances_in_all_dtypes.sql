-- Subgraphs at shape configs at which they are instances in all three dtypes and move at most $max_bytes in float32, with
-- their base and the sizes.
SELECT
    instances.subgraph_sha256,
    instances.shape_config,
    generalizations.signature_sha256 AS base_signature_sha256,
    generalizations.start AS base_start,
    generalizations."end" AS base_end,
    any_value(sizes) AS sizes
FROM instances
JOIN generalizations USING (subgraph_sha256)
JOIN variants ON
    variants.model_id = instances.model_id
    AND variants.shape_config = instances.shape_config
    AND variants.dtype = instances.dtype
    AND variants.signature_sha256 = instances.signature_sha256
GROUP BY ALL
HAVING count(*) = 3 AND max(num_bytes) <= $max_bytes
ORDER BY ALL
