-- What curves stand, by target: graphs, positions, share counted in full, share of the checked windows that were wrong,
-- steps up.
SELECT
    target,
    counter,
    is_exact,
    count(*) AS graphs,
    sum(len(kernels))::BIGINT AS positions,
    sum(num_full) / sum(len(kernels)) AS full_frac,
    sum(num_checked)::BIGINT AS checked,
    sum(num_wrong) / nullif(sum(num_checked), 0) AS wrong_frac,
    (
        SELECT count(*)
        FROM fusion_boundaries AS steps
        WHERE steps.target = curves.target AND steps.counter = curves.counter AND steps.is_exact = curves.is_exact
    ) AS steps,
    bool_and(is_calibrated) AS calibrated
FROM kernel_curves AS curves
GROUP BY ALL
ORDER BY ALL
