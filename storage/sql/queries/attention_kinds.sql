-- Attention by family
-- Graphs that attend by scaled_dot_product_attention, by softmax between two products, by both, or not at all. Says
-- where a flash kernel is one call away and where a pass has to find the pattern first.
WITH per_graph AS (
    SELECT
        signature_sha256,
        bool_or(op = 'scaled_dot_product_attention') AS has_fused,
        bool_or(op = 'softmax') AND bool_or(op IN ('matmul', 'bmm', 'einsum', 'baddbmm')) AS has_unfused
    FROM nodes
    WHERE op IN ('scaled_dot_product_attention', 'softmax', 'matmul', 'bmm', 'einsum', 'baddbmm')
    GROUP BY signature_sha256
),
families AS (
    SELECT DISTINCT signature_sha256, coalesce(family, 'unknown') AS family
    FROM graph_sources
    LEFT JOIN models USING (model_id)
)
SELECT
    family,
    count(*) AS graphs,
    count(*) FILTER (has_fused AND NOT has_unfused) AS fused,
    count(*) FILTER (has_unfused AND NOT has_fused) AS unfused,
    count(*) FILTER (has_fused AND has_unfused) AS both,
    count(*) FILTER (NOT coalesce(has_fused OR has_unfused, false)) AS neither
FROM families
LEFT JOIN per_graph USING (signature_sha256)
GROUP BY family
ORDER BY graphs DESC, family;
