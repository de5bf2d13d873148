-- Motifs of each family: classical subgraphs found in its graphs, and the op sequence that covers most of its ops.
WITH family_places AS (
    SELECT DISTINCT family, signature_sha256, start, "end", op_sequence
    FROM occurrences
    JOIN subgraphs USING (subgraph_sha256, kind)
    JOIN (SELECT DISTINCT signature_sha256, model_id FROM graph_sources WHERE part = 0) USING (signature_sha256)
    JOIN models USING (model_id)
    WHERE kind = 'classical' AND family IS NOT NULL
),
covering AS (
    SELECT family, op_sequence, count(*) AS places, sum("end" - start)::BIGINT AS ops
    FROM family_places
    GROUP BY ALL
)
SELECT
    family,
    count(*) AS motifs,
    sum(places)::BIGINT AS places,
    sum(ops)::BIGINT AS ops_covered,
    arg_max(places, ops) AS top_places,
    array_to_string(arg_max(op_sequence, ops), ' ') AS top_motif
FROM covering
GROUP BY family
ORDER BY ops_covered DESC, family
LIMIT $limit;
