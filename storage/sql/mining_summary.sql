-- What mining gave, by kind: subgraphs, their distinct structures (for single ops: keys) and op sequences, ops, support,
-- places, exclusions.
SELECT
    kind,
    count(*) AS subgraphs,
    count(DISTINCT coalesce(structure_sha256, subgraph_sha256)) AS structures,
    count(DISTINCT op_sequence_xxh3) AS op_sequences,
    round(avg(num_ops), 1) AS mean_ops,
    max(num_ops) AS max_ops,
    avg(connected::INTEGER) AS connected_frac,
    sum(num_occurrences)::BIGINT AS occurrences,
    median(support) AS median_support,
    max(support) AS max_support,
    coalesce(any_value(excluded), 0) AS excluded
FROM subgraphs
JOIN subgraph_support USING (subgraph_sha256, kind)
LEFT JOIN (SELECT kind, count(*) AS excluded FROM excluded_ranges GROUP BY kind) USING (kind)
GROUP BY kind
ORDER BY kind
