-- Pairs of producer and consumer
-- Which op's value goes to which op, over all edges between ops. The commonest pairs are the first candidates for
-- fusion; frac is the pair's share of what the producer's consumers are.
-- :limit = 100 | how many pairs
WITH calls AS (
    SELECT op, operand_ops, count(*) AS calls FROM nodes WHERE operand_ops <> '' GROUP BY ALL
),
edges AS (
    SELECT unnest(string_split(operand_ops, ' ')) AS producer, op AS consumer, calls FROM calls
)
SELECT
    producer,
    consumer,
    sum(calls)::BIGINT AS edges,
    sum(calls) / sum(sum(calls)) OVER (PARTITION BY producer) AS frac
FROM edges
WHERE producer NOT IN ('input', 'parameter', 'buffer', 'constant')
GROUP BY producer, consumer
ORDER BY edges DESC, producer, consumer
LIMIT coalesce(getvariable('limit'), 100)::BIGINT;
