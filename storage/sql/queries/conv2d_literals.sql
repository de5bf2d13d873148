-- Literals of conv2d
-- Stride, padding, dilation and groups with which conv2d is called, and in how many graphs. Says which specialisations
-- of the kernel pay. Calls of one single-op key have equal literals, so one call of each is parsed; null: the call left
-- the argument at its default.
WITH kinds AS (
    SELECT single_op_sha256, signature_sha256, count(*) AS calls, any_value(literals) AS literals
    FROM nodes
    WHERE op = 'conv2d'
    GROUP BY ALL
),
parsed AS (
    -- A tuple is {"tuple":[1,1]} there: what is left is [1,1].
    SELECT
        replace(rtrim(coalesce(literals ->> '$.args[3]', literals ->> '$.kwargs.stride'), '}'), '{"tuple":', '') AS stride,
        replace(rtrim(coalesce(literals ->> '$.args[4]', literals ->> '$.kwargs.padding'), '}'), '{"tuple":', '') AS padding,
        replace(rtrim(coalesce(literals ->> '$.args[5]', literals ->> '$.kwargs.dilation'), '}'), '{"tuple":', '') AS dilation,
        coalesce(literals ->> '$.args[6]', literals ->> '$.kwargs.groups') AS "groups",
        calls,
        signature_sha256
    FROM kinds
)
SELECT stride, padding, dilation, "groups", sum(calls)::BIGINT AS calls, count(DISTINCT signature_sha256) AS graphs
FROM parsed
GROUP BY ALL
ORDER BY calls DESC, stride, padding, dilation, "groups";
