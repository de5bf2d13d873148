-- What became of each model that a source named: failed, traced or clean, and why it is not clean.
-- Clean: the program uses every modality that the forward takes, no value was guessed, and at least 99 % of the
-- parameters take part or the others are explained (docs/definitions.md, section 2). A model that was captured or
-- imported came with its inputs: it is traced, and clean only where its sample says what was recorded of it.
WITH traced AS (
    SELECT
        model_id,
        list_filter(modalities, lambda modality: NOT list_contains(modalities_received, modality)) AS missing,
        num_guesses,
        parameters_used_frac >= 0.99 OR unused_reason IS NOT NULL AS are_parameters_explained
    FROM models
    SEMI JOIN graph_sources USING (model_id)
),
failed AS (
    SELECT subject AS model_id, arg_max(reason, "at") AS reason, arg_max(detail, "at") AS detail
    FROM failures
    WHERE step IN ('discover', 'trace')
    GROUP BY subject
)
SELECT
    models.model_id,
    source,
    family,
    head,
    domain,
    CASE
        WHEN traced.model_id IS NULL THEN 'failed'
        WHEN len(missing) = 0 AND traced.num_guesses = 0 AND are_parameters_explained THEN 'clean'
        ELSE 'traced'
    END AS status,
    CASE
        WHEN traced.model_id IS NULL THEN coalesce(failed.reason || ': ' || failed.detail, 'not tried')
        WHEN traced.num_guesses IS NULL AND source = 'user' THEN 'captured: inputs are the user''s own'
        WHEN traced.num_guesses IS NULL AND source = 'import' THEN 'imported: inputs are the sample''s own'
        WHEN traced.num_guesses IS NULL THEN 'traced before this was recorded'
        WHEN len(missing) > 0 THEN 'not received: ' || array_to_string(missing, ', ')
        WHEN traced.num_guesses > 0 THEN traced.num_guesses || ' values guessed'
        WHEN NOT are_parameters_explained THEN printf('%.1f %% of the parameters used', 100 * parameters_used_frac)
    END AS reason,
    repairs,
    unused_reason
FROM models
LEFT JOIN traced USING (model_id)
LEFT JOIN failed USING (model_id);
