-- Distinct graphs by their number of ops, in bins [2^k, 2^(k+1)); empty bins between others are kept.
WITH sizes AS (
    SELECT floor(log2(greatest(max(num_ops), 1)))::INTEGER AS bin FROM graphs GROUP BY graph_sha256
)
SELECT
    (2 ** bin)::BIGINT AS from_ops,
    (2 ** (bin + 1))::BIGINT - 1 AS to_ops,
    count(sizes.bin) AS distinct_graphs
FROM (SELECT unnest(generate_series((SELECT min(bin) FROM sizes), (SELECT max(bin) FROM sizes)))::INTEGER AS bin) AS bins
LEFT JOIN sizes USING (bin)
GROUP BY bin
ORDER BY bin;
