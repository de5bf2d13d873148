-- Each shape config and dtype of the subgraph $subgraph_sha256: its instance, or why there is none; with the sizes of the
-- variant, null where the model has none.
SELECT places.* EXCLUDE (signature_sha256), sizes
FROM (
    SELECT subgraph_sha256, shape_config, dtype, instance_sha256, signature_sha256, NULL AS reason, NULL AS detail
    FROM instances
    UNION ALL
    SELECT subgraph_sha256, shape_config, dtype, NULL, NULL, reason, detail FROM missing_instances
) AS places
JOIN generalizations USING (subgraph_sha256)
LEFT JOIN variants ON
    variants.model_id = generalizations.model_id
    AND variants.shape_config = places.shape_config
    AND variants.dtype = places.dtype
    AND (places.instance_sha256 IS NULL OR variants.signature_sha256 = places.signature_sha256)
WHERE subgraph_sha256 = $subgraph_sha256
QUALIFY row_number() OVER (PARTITION BY places.shape_config, places.dtype ORDER BY variants.num_ops DESC) = 1
ORDER BY places.shape_config, places.dtype;
