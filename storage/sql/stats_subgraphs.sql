-- Redundancy of subgraphs by kind: 1 - distinct structures (for single ops: keys) / places.
SELECT
    kind,
    sum(num_occurrences)::BIGINT AS places,
    count(*) AS subgraphs,
    count(DISTINCT coalesce(structure_sha256, subgraph_sha256)) AS structures,
    count(DISTINCT op_sequence_xxh3) AS op_sequences,
    1 - count(DISTINCT coalesce(structure_sha256, subgraph_sha256)) / sum(num_occurrences) AS redundancy_frac
FROM subgraphs
JOIN subgraph_support USING (subgraph_sha256, kind)
GROUP BY kind
ORDER BY kind;
