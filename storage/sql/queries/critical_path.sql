-- Critical path by family
-- Ops on the longest path from operand to operand of a graph, and how many ops stand beside each step of it (ops /
-- depth). Width says what running independent ops at once can gain; depth how many launches must follow each other.
WITH per_graph AS (
    SELECT signature_sha256, count(*) AS ops, max(depth) AS depth FROM nodes GROUP BY signature_sha256
),
families AS (
    SELECT DISTINCT signature_sha256, coalesce(family, 'unknown') AS family
    FROM graph_sources
    LEFT JOIN models USING (model_id)
)
SELECT
    family,
    count(*) AS graphs,
    median(ops) AS median_ops,
    median(depth) AS median_depth,
    max(depth) AS max_depth,
    sum(ops) / sum(depth) AS width
FROM families
JOIN per_graph USING (signature_sha256)
GROUP BY family
ORDER BY median_depth DESC, family;
