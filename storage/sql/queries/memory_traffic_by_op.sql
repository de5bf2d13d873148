-- Memory traffic by op
-- Bytes that the calls of each op read and write were each to run alone, views (macro is_view) left out. Ops with much
-- traffic and little arithmetic (add, dropout, norms) are where fusion saves most; the sum bounds what it can save. An
-- operand counts whole, also where an op gathers a part of it: embedding, getitem by index tensors, gather.
SELECT
    op,
    count(*) AS calls,
    sum(operand_bytes)::DOUBLE AS read_bytes,
    sum(output_bytes)::DOUBLE AS written_bytes,
    (sum(operand_bytes) + sum(output_bytes)) / sum(sum(operand_bytes) + sum(output_bytes)) OVER () AS traffic_frac
FROM nodes
WHERE NOT is_view(op, operand_ops)
GROUP BY op
ORDER BY traffic_frac DESC, op;
