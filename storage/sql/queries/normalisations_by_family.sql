-- Normalisations by family
-- Which normalisation ops a family calls, and how often a graph does. rms_by_hand counts rsqrt: the RMS norm that many
-- language models write out in pow, mean and rsqrt, which a pass can fold back into rms_norm.
WITH per_graph AS (
    SELECT signature_sha256, if(op = 'rsqrt', 'rms_by_hand', op) AS normalisation, count(*) AS uses
    FROM nodes
    WHERE op IN ('batch_norm', 'layer_norm', 'group_norm', 'instance_norm', 'rms_norm', 'local_response_norm', 'normalize', 'rsqrt')
    GROUP BY ALL
),
families AS (
    SELECT DISTINCT signature_sha256, coalesce(family, 'unknown') AS family
    FROM graph_sources
    LEFT JOIN models USING (model_id)
)
SELECT family, normalisation, count(*) AS graphs, sum(uses)::BIGINT AS uses, avg(uses) AS uses_per_graph
FROM per_graph
JOIN families USING (signature_sha256)
GROUP BY ALL
ORDER BY family, uses DESC, normalisation;
