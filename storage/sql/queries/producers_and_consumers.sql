-- Producers and consumers of an op, by shape
-- Which ops make what an op takes, which ops take what it returns, and the shape that passes between them. Says which
-- neighbours a fused kernel for the op has to cover, and at which sizes.
-- :op = softmax | canonical name of the op
WITH calls AS (
    SELECT op, operand_ops, operand_shapes, count(*) AS calls
    FROM nodes
    WHERE
        op = coalesce(getvariable('op'), 'softmax')
        OR contains(' ' || operand_ops || ' ', ' ' || coalesce(getvariable('op'), 'softmax') || ' ')
    GROUP BY ALL
),
edges AS (
    SELECT
        op AS consumer,
        unnest(string_split(operand_ops, ' ')) AS producer,
        unnest(operand_shapes::BIGINT[][]) AS shape,
        calls
    FROM calls
    WHERE operand_ops <> ''
)
SELECT 'producer' AS side, producer AS neighbour, shape, sum(calls)::BIGINT AS uses
FROM edges
WHERE consumer = coalesce(getvariable('op'), 'softmax')
GROUP BY ALL
UNION ALL
SELECT 'consumer', consumer, shape, sum(calls)::BIGINT
FROM edges
WHERE producer = coalesce(getvariable('op'), 'softmax')
GROUP BY ALL
ORDER BY side DESC, uses DESC, neighbour, shape;
