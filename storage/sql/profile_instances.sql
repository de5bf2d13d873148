-- What the instances that were timed are, one row each: an instance of several subgraphs has the first of them by hash,
-- a subgraph of several kinds names both (classical+fusible). num_ops counts the instance's ops, op_sequence names them
-- in order; family and domain are those of the model that it was traced from.
WITH chosen AS (
    SELECT * EXCLUDE (start, "end"), "end" - start AS num_ops
    FROM instances
    SEMI JOIN timings USING (instance_sha256)
    QUALIFY row_number() OVER (PARTITION BY instance_sha256 ORDER BY subgraph_sha256, shape_config, dtype) = 1
),

named AS (
    SELECT subgraph_sha256, string_agg(kind, '+' ORDER BY kind) AS kind, any_value(op_sequence) AS op_sequence
    FROM subgraphs
    SEMI JOIN chosen USING (subgraph_sha256)
    GROUP BY subgraph_sha256
)

SELECT
    instance_sha256,
    subgraph_sha256,
    kind,
    shape_config,
    dtype,
    num_ops,
    op_sequence,
    model_id,
    family,
    domain,
    num_bytes,
    num_flop
FROM chosen
LEFT JOIN named USING (subgraph_sha256)
LEFT JOIN (SELECT model_id, family, domain FROM models) USING (model_id);
