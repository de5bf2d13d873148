-- The failures that still stand: the newest row of each subject and step, less the models that were traced since.
-- A failed validation stands beside a trace: only the steps that lead to one are solved by it.
SELECT failures.*
FROM failures
LEFT JOIN (SELECT DISTINCT model_id FROM graph_sources) AS traced
    ON traced.model_id = failures.subject AND failures.step IN ('discover', 'build', 'trace')
WHERE traced.model_id IS NULL
QUALIFY row_number() OVER (PARTITION BY subject, step ORDER BY "at" DESC, run_id DESC) = 1;
