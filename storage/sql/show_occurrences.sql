-- The first places of the subgraph $subgraph_sha256, at most $limit, with a model of each, and for a fusible one the
-- targets whose curves found it there.
SELECT
    (SELECT min(model_id) FROM graph_sources WHERE graph_sources.signature_sha256 = places.signature_sha256) AS model_id,
    start,
    "end",
    targets AS fusible_on
FROM (
    SELECT DISTINCT signature_sha256, start, "end" FROM occurrences WHERE subgraph_sha256 = $subgraph_sha256
    UNION ALL
    SELECT signature_sha256, "index", "index" + 1 FROM nodes WHERE single_op_sha256 = $subgraph_sha256
) AS places
LEFT JOIN (
    SELECT signature_sha256, start, "end", string_agg(DISTINCT target, ' ' ORDER BY target) AS targets
    FROM fusible_places
    WHERE subgraph_sha256 = $subgraph_sha256
    GROUP BY ALL
) AS fusible USING (signature_sha256, start, "end")
ORDER BY model_id, start
LIMIT $limit;
