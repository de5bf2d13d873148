-- What mining gave, by kind (fusible ones by the target whose curves they come from): subgraphs, their distinct
-- structures (for single ops: keys) and op sequences, ops, support in all graphs, places, exclusions.
WITH found AS (
    SELECT subgraph_sha256, 'fusible' AS kind, target, count(*) AS places FROM fusible_places GROUP BY ALL
),
left_out AS (
    SELECT kind, target, count(*) AS excluded
    FROM excluded_ranges
    LEFT JOIN (SELECT DISTINCT grammar_id, target FROM fusible_places) USING (grammar_id)
    GROUP BY ALL
)
SELECT
    kind,
    target,
    count(*) AS subgraphs,
    count(DISTINCT coalesce(structure_sha256, subgraph_sha256)) AS structures,
    count(DISTINCT op_sequence_xxh3) AS op_sequences,
    round(avg(num_ops), 1) AS mean_ops,
    max(num_ops) AS max_ops,
    avg(connected::INTEGER) AS connected_frac,
    sum(coalesce(places, num_occurrences))::BIGINT AS occurrences,
    median(support) AS median_support,
    max(support) AS max_support,
    coalesce(
        (
            SELECT sum(excluded)
            FROM left_out
            WHERE left_out.kind = subgraphs.kind AND left_out.target IS NOT DISTINCT FROM found.target
        ),
        0
    )::BIGINT AS excluded
FROM subgraphs
JOIN subgraph_support USING (subgraph_sha256, kind)
LEFT JOIN found USING (subgraph_sha256, kind)
GROUP BY kind, target
ORDER BY kind, target
