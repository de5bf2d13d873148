-- Graphs that differ by sizes only
-- Programs of one structure (sizes masked) with how many programs, signatures and models they are. One kernel with
-- dynamic shapes serves each line; a compiler that specialises compiles as often as `signatures` says.
-- :limit = 100 | how many structures
SELECT
    structure_sha256,
    any_value(num_ops) AS num_ops,
    count(DISTINCT graph_sha256) AS programs,
    count(DISTINCT signature_sha256) AS signatures,
    count(DISTINCT model_id) AS models,
    min(model_id) AS example
FROM graphs
JOIN graph_sources USING (signature_sha256)
GROUP BY structure_sha256
HAVING count(DISTINCT signature_sha256) > 1
ORDER BY signatures DESC, structure_sha256
LIMIT coalesce(getvariable('limit'), 100)::BIGINT;
