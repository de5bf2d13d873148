-- What the corpus has of the configs $config_sha256s: the model that was traced for each (no row of failures), else one
-- that failed for good at $step_version, with reason and detail. Reasons in $open_reasons settle nothing.
WITH asked AS (
    SELECT config_sha256, model_id
    FROM models
    WHERE list_contains($config_sha256s, config_sha256) AND traced_from IS NULL
),
traced AS (
    SELECT config_sha256, min(model_id) AS model_id FROM asked SEMI JOIN graph_sources USING (model_id) GROUP BY ALL
),
failed AS (
    SELECT config_sha256, min(model_id) AS model_id, arg_min(reason, model_id) AS reason, arg_min(detail, model_id) AS detail
    FROM asked
    JOIN (
        SELECT subject AS model_id, reason, detail, step_version
        FROM failures
        WHERE step = 'trace'
        QUALIFY row_number() OVER (PARTITION BY subject ORDER BY "at" DESC, run_id DESC) = 1
    ) USING (model_id)
    WHERE step_version = $step_version AND NOT list_contains($open_reasons, reason)
    GROUP BY ALL
)
SELECT config_sha256, model_id, NULL AS reason, NULL AS detail FROM traced
UNION ALL
SELECT config_sha256, model_id, reason, detail FROM failed ANTI JOIN traced USING (config_sha256);
