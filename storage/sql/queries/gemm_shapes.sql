-- Shapes of matrix products
-- Batch, M, N and K of linear, matmul, bmm, addmm and baddbmm, how often each occurs and its share of all their FLOP
-- (a multiply-add is two). These are the sizes to tune a GEMM for. Products with a vector are left out.
-- :limit = 200 | how many shapes
WITH calls AS (
    SELECT op, operand_shapes, count(*) AS uses
    FROM nodes
    WHERE op IN ('linear', 'matmul', 'bmm', 'addmm', 'baddbmm') AND operand_shapes IS NOT NULL
    GROUP BY ALL
),
operands AS (
    SELECT op, (operand_shapes::BIGINT[][])[if(op IN ('addmm', 'baddbmm'), 2, 1) :] AS shapes, uses FROM calls
),
products AS (
    SELECT
        op,
        if(op = 'linear', 1, greatest(list_product(shapes[1][: -3]), list_product(shapes[2][: -3]), 1))::BIGINT AS batch,
        coalesce(if(op = 'linear', list_product(shapes[1][: -2]), shapes[1][-2]), 1)::BIGINT AS m,
        if(op = 'linear', shapes[2][1], shapes[2][-1]) AS n,
        shapes[1][-1] AS k,
        uses
    FROM operands
    WHERE len(shapes[1]) >= if(op = 'linear', 1, 2) AND len(shapes[2]) >= 2
),
shapes AS (
    SELECT op, batch, m, n, k, sum(uses)::BIGINT AS uses, 2.0 * batch * m * n * k * sum(uses) AS num_flop
    FROM products
    GROUP BY op, batch, m, n, k
)
SELECT op, batch, m, n, k, uses, num_flop / sum(num_flop) OVER () AS flop_frac
FROM shapes
ORDER BY uses DESC, op, batch, m, n, k
LIMIT coalesce(getvariable('limit'), 200)::BIGINT;
