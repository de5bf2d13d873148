-- Attention by family
-- Graphs that attend by scaled_dot_product_attention, by softmax between two products, by both, or not at all. Says
-- where a flash kernel is one call away and where a pass has to find the pattern first.
WITH per_graph AS (
    SELECT
        signature_sha256,
        list_contains(op_sequence, 'scaled_dot_product_attention') AS has_fused,
        list_contains(op_sequence, 'softmax') AND list_has_any(op_sequence, ['matmul', 'bmm', 'einsum', 'baddbmm']) AS has_unfused
    FROM graphs
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
    count(*) FILTER (NOT has_fused AND NOT has_unfused) AS neither
FROM families
JOIN per_graph USING (signature_sha256)
GROUP BY family
ORDER BY graphs DESC, family;
