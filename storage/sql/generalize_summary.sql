-- What generalization made, by the modality of the models: subgraphs whose outputs depend on a data input, their
-- instances, the share of the 30 for each that is there (those over the bound on bytes left out), how many of those that
-- are not cannot be, for the program is the same in another dtype, the share of these subgraphs that vary by two axes or
-- more, and the share of those that vary whose expressions hold on all sizes seen.
WITH dropped AS (
    SELECT
        subgraph_sha256,
        count(*) FILTER (reason = 'over_max_bytes') AS num_over,
        count(*) FILTER (reason = 'dtype_invariant') AS num_invariant
    FROM missing_instances
    GROUP BY subgraph_sha256
)

SELECT
    coalesce(domain, 'other') AS domain,
    count(*) AS subgraphs,
    count(*) FILTER (depends_on_input) AS data_dependent,
    sum(num_instances)::BIGINT AS instances,
    sum(num_instances) FILTER (depends_on_input)
    / nullif(sum(num_instances + num_missing - coalesce(num_over, 0)) FILTER (depends_on_input), 0) AS instances_frac,
    coalesce(sum(num_over), 0)::BIGINT AS over_max_bytes,
    coalesce(sum(num_invariant) FILTER (depends_on_input), 0)::BIGINT AS dtype_invariant,
    count(*) FILTER (depends_on_input AND len(axes) >= 2) / nullif(count(*) FILTER (depends_on_input), 0) AS two_axes_frac,
    count(*) FILTER (expressions IS NOT NULL)
    / nullif(count(*) FILTER (depends_on_input AND coalesce(symbolic_reason, '') <> 'nothing_varies'), 0) AS symbolic_frac
FROM generalizations
LEFT JOIN dropped USING (subgraph_sha256)
LEFT JOIN models USING (model_id)
GROUP BY ALL
ORDER BY subgraphs DESC, domain
