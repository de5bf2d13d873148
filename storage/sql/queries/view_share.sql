-- Views by family
-- Which share of a family's ops only looks at memory in another way (view, transpose, getitem by slices, ...: macro
-- is_view). They launch nothing, but stand between the ops that a compiler would fuse. reshape, contiguous and to may
-- copy and are not counted.
WITH per_graph AS (
    SELECT signature_sha256, count(*) AS ops, count(*) FILTER (is_view(op, operand_ops)) AS views
    FROM nodes
    GROUP BY signature_sha256
),
families AS (
    SELECT DISTINCT signature_sha256, coalesce(family, 'unknown') AS family
    FROM graph_sources
    LEFT JOIN models USING (model_id)
)
SELECT family, count(*) AS graphs, sum(views)::BIGINT AS views, sum(views) / sum(ops) AS views_frac
FROM families
JOIN per_graph USING (signature_sha256)
GROUP BY family
ORDER BY views_frac DESC, family;
