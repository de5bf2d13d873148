-- The instances $instances, each by the first of its rows by key, as instance_rows.sql has them: with its base, the range
-- of a stored graph that it is rendered from, and the sizes of its variant.
WITH stored AS (
    FROM instances
    SEMI JOIN (SELECT unnest($instances::VARCHAR[]) AS instance_sha256) USING (instance_sha256)
    QUALIFY row_number() OVER (PARTITION BY instance_sha256 ORDER BY subgraph_sha256, shape_config, dtype) = 1
)

SELECT
    stored.*,
    generalizations.signature_sha256 AS base_signature_sha256,
    generalizations.start AS base_start,
    generalizations."end" AS base_end,
    variants.sizes
FROM stored
LEFT JOIN generalizations USING (subgraph_sha256)
LEFT JOIN variants ON
    variants.model_id = stored.model_id
    AND variants.shape_config = stored.shape_config
    AND variants.dtype = stored.dtype
    AND variants.signature_sha256 = stored.signature_sha256;
