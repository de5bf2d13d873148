-- The ops, in order, of those of $signatures that hold a single op without a row in generalizations (single_op_sha256,
-- null for the others): the ops they read from, and what else they depend on. is_cast: their dtype is written down.
WITH wanted AS (
    SELECT subgraph_sha256 AS single_op_sha256
    FROM subgraphs
    ANTI JOIN generalizations USING (subgraph_sha256)
    WHERE kind = 'single_op'
),

held AS (
    SELECT DISTINCT signature_sha256
    FROM nodes
    SEMI JOIN wanted USING (single_op_sha256)
    WHERE list_contains($signatures, signature_sha256)
)

SELECT
    signature_sha256,
    "index",
    wanted.single_op_sha256,
    list_filter(operands, lambda ref: ref >= 0) AS reads,
    regexp_matches(operand_ops, '\binput\b') AS reads_input,
    regexp_matches(operand_ops, '\b(input|parameter|buffer)\b') AS reads_tensor,
    coalesce(output_dtype, 'float32') IN ('float32', 'complex64') AS is_float,
    op IN ('float', 'double', 'half', 'bfloat16') OR literals LIKE '%{"dtype":"float%' AS is_cast
FROM nodes
SEMI JOIN held USING (signature_sha256)
LEFT JOIN wanted USING (single_op_sha256)
ORDER BY signature_sha256, "index"
