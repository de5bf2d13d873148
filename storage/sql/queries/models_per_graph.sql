-- Models per graph
-- How many programs have one model, two, and so on, and the largest such program. Says how much of the population a
-- pass covers when it is tuned for the programs that most models share.
WITH programs AS (
    SELECT graph_sha256, count(DISTINCT model_id) AS models, min(model_id) AS first_model, max(num_ops) AS num_ops
    FROM graph_sources
    JOIN graphs USING (signature_sha256)
    GROUP BY graph_sha256
)
SELECT
    models,
    count(*) AS programs,
    (models * count(*))::BIGINT AS models_covered,
    arg_min(first_model, (-num_ops, first_model)) AS largest_program_of
FROM programs
GROUP BY models
ORDER BY models DESC;
