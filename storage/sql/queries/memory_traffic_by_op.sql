-- Memory traffic by op
-- Bytes that the calls of each op read and write were each to run alone, views left out. Ops with much traffic and
-- little arithmetic (add, dropout, norms) are where fusion saves most; the sum bounds what it can save.
SELECT
    op,
    count(*) AS calls,
    sum(operand_bytes)::DOUBLE AS read_bytes,
    sum(output_bytes)::DOUBLE AS written_bytes,
    (sum(operand_bytes) + sum(output_bytes)) / sum(sum(operand_bytes) + sum(output_bytes)) OVER () AS traffic_frac
FROM nodes
WHERE
    op NOT IN (
        'view', 'transpose', 'permute', 't', 'expand', 'expand_as', 'squeeze', 'unsqueeze', 'narrow', 'select',
        'chunk', 'split', 'unbind', 'movedim', 'diagonal', 'detach', 'unfold', 'view_as', 'unflatten', 'as_strided'
    )
GROUP BY op
ORDER BY traffic_frac DESC, op;
