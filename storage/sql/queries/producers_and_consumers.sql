-- Producers and consumers of an op, by shape
-- Which ops make what an op takes, and which take what it returns, with the shape and dtype that passes between them;
-- says which neighbours a fused kernel for the op has to cover, and at which sizes.
-- :op = softmax | canonical name of the op
WITH middle AS (
    SELECT signature_sha256, "index", operands FROM nodes WHERE op = coalesce(getvariable('op'), 'softmax')
),
taken AS (
    SELECT DISTINCT signature_sha256, "index", unnest(operands) AS producer FROM middle
),
producers AS (
    SELECT 'producer' AS side, nodes.op AS neighbour, output_shape AS shape, output_dtype AS dtype, signature_sha256
    FROM taken
    JOIN nodes USING (signature_sha256)
    WHERE nodes."index" = taken.producer
)
SELECT * FROM producers;
