-- Ops with the widest variety of calls
-- How many distinct calls of an op there are (literals with sizes masked, operand kinds, ranks and dtypes), and how many
-- uses each has on average. Wide variety needs general kernels, narrow variety pays specialised ones.
SELECT
    op,
    count(DISTINCT single_op_sha256) AS distinct_calls,
    count(*) AS uses,
    count(*) / count(DISTINCT single_op_sha256) AS uses_per_call
FROM nodes
GROUP BY op
ORDER BY distinct_calls DESC, op;
