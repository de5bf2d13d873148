-- What generalization made, of all subgraphs and by the modality of the models. Of the subgraphs whose outputs depend on
-- a data input: the share of the 30 for each that is there, those over the bound on bytes left out (instances_frac); how
-- many of those that are not would be the same program in another dtype, and the share without these (distinct_frac); the
-- share that varies by two axes or more; and, of those that vary, the share whose expressions hold on all sizes seen.
WITH dropped AS (
    SELECT
        subgraph_sha256,
        count(*) FILTER (reason = 'over_max_bytes') AS num_over,
        count(*) FILTER (reason = 'dtype_invariant') AS num_invariant
    FROM missing_instances
    GROUP BY subgraph_sha256
),

counted AS (
    SELECT
        coalesce(domain, 'other') AS modality,
        num_instances,
        num_missing,
        coalesce(num_over, 0) AS num_over,
        coalesce(num_invariant, 0) AS num_invariant,
        depends_on_input AS dependent,
        dependent AND len(axes) >= 2 AS has_two_axes,
        expressions IS NOT NULL AS is_symbolic,
        dependent AND coalesce(symbolic_reason, '') <> 'nothing_varies' AS can_vary
    FROM generalizations
    LEFT JOIN dropped USING (subgraph_sha256)
    LEFT JOIN models USING (model_id)
)

SELECT
    CASE WHEN grouping(modality) = 1 THEN 'all' ELSE modality END AS domain,
    count(*) AS subgraphs,
    count(*) FILTER (dependent) AS data_dependent,
    sum(num_instances)::BIGINT AS instances,
    sum(num_instances) FILTER (dependent)
    / nullif(sum(num_instances + num_missing - num_over) FILTER (dependent), 0) AS instances_frac,
    sum(num_over)::BIGINT AS over_max_bytes,
    coalesce(sum(num_invariant) FILTER (dependent), 0)::BIGINT AS dtype_invariant,
    sum(num_instances) FILTER (dependent)
    / nullif(sum(num_instances + num_missing - num_over - num_invariant) FILTER (dependent), 0) AS distinct_frac,
    count(*) FILTER (has_two_axes) / nullif(count(*) FILTER (dependent), 0) AS two_axes_frac,
    count(*) FILTER (is_symbolic) / nullif(count(*) FILTER (can_vary), 0) AS symbolic_frac
FROM counted
GROUP BY ROLLUP (modality)
HAVING count(*) > 0
ORDER BY grouping(modality) DESC, subgraphs DESC, domain
