-- The failures that still stand: the newest row of each subject and step, less the models that were traced since and
-- the samples that were imported since. The steps that lead to a trace (discover, build, trace) are one: a model that
-- fails in a later one has passed those before. A failed validation stands beside a trace.
SELECT failures.*
FROM failures
LEFT JOIN (SELECT DISTINCT model_id FROM graph_sources) AS traced
    ON traced.model_id = failures.subject AND failures.step IN ('discover', 'build', 'trace', 'capture')
LEFT JOIN (SELECT DISTINCT 'import/' || imported_from AS subject FROM samples) AS imported
    ON imported.subject = failures.subject AND failures.step = 'import'
WHERE traced.model_id IS NULL AND imported.subject IS NULL
QUALIFY row_number() OVER (
    PARTITION BY failures.subject, CASE WHEN step IN ('discover', 'build') THEN 'trace' ELSE step END
    ORDER BY "at" DESC, run_id DESC
) = 1;
