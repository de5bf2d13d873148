-- Largest intermediate values
-- The op of each graph that returns the most bytes, views left out. These values decide whether a graph fits a device,
-- and are the first to recompute or to fuse away.
-- :limit = 50 | how many graphs
WITH values_made AS (
    SELECT signature_sha256, "index", op, output_shape, output_dtype, output_bytes
    FROM nodes
    WHERE
        op NOT IN (
            'view', 'transpose', 'permute', 't', 'expand', 'expand_as', 'squeeze', 'unsqueeze', 'narrow', 'select',
            'chunk', 'split', 'unbind', 'movedim', 'diagonal', 'detach', 'unfold', 'view_as', 'unflatten', 'as_strided'
        )
),
largest AS (
    SELECT signature_sha256, max(output_bytes) AS output_bytes
    FROM values_made
    GROUP BY signature_sha256
    ORDER BY output_bytes DESC NULLS LAST, signature_sha256
    LIMIT coalesce(getvariable('limit'), 50)::BIGINT
),
first_op AS (
    SELECT signature_sha256, output_bytes, min("index") AS "index"
    FROM values_made
    JOIN largest USING (signature_sha256, output_bytes)
    GROUP BY ALL
)
SELECT signature_sha256, model_id, "index", op, output_shape, output_dtype, output_bytes
FROM first_op
JOIN values_made USING (signature_sha256, "index", output_bytes)
JOIN (SELECT signature_sha256, min(model_id) AS model_id FROM graph_sources GROUP BY signature_sha256) USING (signature_sha256)
ORDER BY output_bytes DESC, signature_sha256;
