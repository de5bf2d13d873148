-- Largest intermediate values
-- The first op of each graph that returns the most bytes, views (macro is_view) left out. These values decide whether a
-- graph fits a device, and are the first to recompute or to fuse away.
-- :limit = 50 | how many graphs
WITH largest AS (
    SELECT signature_sha256, max(output_bytes) AS output_bytes
    FROM nodes
    WHERE NOT is_view(op, operand_ops)
    GROUP BY signature_sha256
    ORDER BY output_bytes DESC NULLS LAST, signature_sha256
    LIMIT coalesce(getvariable('limit'), 50)::BIGINT
)
SELECT
    signature_sha256,
    any_value(model_id) AS model_id,
    min("index") AS "index",
    arg_min(op, "index") AS op,
    arg_min(output_shape, "index") AS output_shape,
    arg_min(output_dtype, "index") AS output_dtype,
    output_bytes
FROM largest
JOIN nodes USING (signature_sha256, output_bytes)
JOIN (SELECT signature_sha256, min(model_id) AS model_id FROM graph_sources GROUP BY signature_sha256) USING (signature_sha256)
WHERE NOT is_view(op, operand_ops)
GROUP BY signature_sha256, output_bytes
ORDER BY output_bytes DESC, signature_sha256;
