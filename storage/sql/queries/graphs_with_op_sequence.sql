-- Graphs that contain a given sequence of ops
-- Which graphs run these ops one after the other in recorded order, how often and from which op on; the work list for a
-- pass that rewrites the sequence, and the models to test it on.
-- :ops = layer_norm linear gelu dropout linear | op names, a space between them
WITH sequences AS (
    SELECT
        signature_sha256,
        domain,
        num_ops,
        ' ' || array_to_string(op_sequence, '  ') || ' ' AS sequence,
        ' ' || replace(coalesce(getvariable('ops'), 'layer_norm linear gelu dropout linear'), ' ', '  ') || ' ' AS wanted
    FROM graphs
),
found AS (
    SELECT
        signature_sha256,
        domain,
        num_ops,
        (len(sequence) - len(replace(sequence, wanted, ''))) // len(wanted) AS times,
        len(string_split(sequence[: strpos(sequence, wanted)], '  ')) - 1 AS first_index
    FROM sequences
    WHERE contains(sequence, wanted)
)
SELECT
    signature_sha256, min(model_id) AS model_id, count(DISTINCT model_id) AS models, domain, num_ops, times, first_index
FROM found
JOIN graph_sources USING (signature_sha256)
GROUP BY signature_sha256, domain, num_ops, times, first_index
ORDER BY times DESC, signature_sha256;
