-- Ops of one family only
-- Ops that no other family uses, with that family. Support for them buys one family each, and a pass tested without it
-- never meets them.
WITH uses AS (
    SELECT signature_sha256, op, count(*) AS uses FROM nodes GROUP BY ALL
),
families AS (
    SELECT DISTINCT signature_sha256, coalesce(family, 'unknown') AS family
    FROM graph_sources
    LEFT JOIN models USING (model_id)
)
SELECT op, any_value(family) AS family, count(*) AS graphs, sum(uses)::BIGINT AS uses
FROM uses
JOIN families USING (signature_sha256)
GROUP BY op
HAVING count(DISTINCT family) = 1
ORDER BY uses DESC, op;
