-- Graphs with one model each and the checks that have a verdict at $levels, from the smallest graph (elements of the
-- tensors that it takes and its ops return) to the largest. A verdict does not count where a transient failure stands
-- for it ($open_reasons), where a check was left out for a cost that $max_bytes, $max_flop and $max_params now allow, or
-- where an op was not registered and modules are now imported ($has_imports).
WITH sizes AS (
    SELECT
        signature_sha256,
        coalesce(list_sum(list_transform(tensors, lambda tensor: coalesce(list_product(tensor.shape), 1))), 0) AS num_elements
    FROM graphs
),
returned AS (
    SELECT signature_sha256, sum(coalesce(list_product(output_shape), 1)) AS num_elements FROM nodes GROUP BY signature_sha256
),
parts AS (
    -- A part of a model cannot be compared with the whole: fidelity is not asked of it.
    SELECT
        signature_sha256,
        model_id,
        part = 0 AND (coalesce(tracer, 'function_mode') <> 'dynamo' OR count(*) OVER (PARTITION BY model_id) = 1) AS is_whole
    FROM graph_sources
),
judged AS (
    SELECT signature_sha256, list("constraint") AS constraints
    FROM constraints
    WHERE
        (list_contains($levels, level) OR "constraint" = 'fidelity')
        AND NOT list_contains($open_reasons, coalesce(reason, ''))
        AND NOT (
            $has_imports AND coalesce(reason, '') = 'op_not_allowed' AND contains(coalesce(detail, ''), ' is not registered')
        )
        AND NOT (
            coalesce(reason, '') = 'over_budget'
            AND coalesce(TRY_CAST(regexp_extract(detail, 'about (\d+) bytes', 1) AS DOUBLE), 0) <= $max_bytes
            AND coalesce(TRY_CAST(regexp_extract(detail, 'and (\S+) FLOP', 1) AS DOUBLE), 0) <= $max_flop
            AND coalesce(TRY_CAST(regexp_extract(detail, '(\d+) parameters', 1) AS DOUBLE), 0) <= $max_params
        )
    GROUP BY signature_sha256
)
SELECT
    signature_sha256,
    coalesce(min(model_id) FILTER (is_whole), min(model_id)) AS model_id,
    coalesce(any_value(judged.constraints), []) || if(bool_or(is_whole), [], ['fidelity']) AS judged
FROM parts
JOIN sizes USING (signature_sha256)
LEFT JOIN returned USING (signature_sha256)
LEFT JOIN judged USING (signature_sha256)
WHERE $model_ids IS NULL OR list_contains($model_ids, model_id)
GROUP BY signature_sha256
ORDER BY any_value(sizes.num_elements + coalesce(returned.num_elements, 0)), signature_sha256;
