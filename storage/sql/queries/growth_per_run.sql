-- Growth per run
-- What each run added: models traced, graphs and programs never seen before, failures; and the programs known after it.
-- Says whether tracing more still finds anything new. Rows that older versions wrote have no run: their day stands for it.
WITH sources AS (
    SELECT
        coalesce(run_id, strftime(traced_at, '%Y-%m-%d')) AS run,
        traced_at,
        model_id,
        signature_sha256,
        graph_sha256
    FROM graph_sources
    JOIN graphs USING (signature_sha256)
),
traced AS (
    SELECT run, min(traced_at) AS started_at, count(DISTINCT model_id) AS models FROM sources GROUP BY run
),
first_programs AS (
    SELECT run, count(*) AS new_programs
    FROM (SELECT arg_min(run, (traced_at, model_id)) AS run FROM sources GROUP BY graph_sha256)
    GROUP BY run
),
first_graphs AS (
    SELECT run, count(*) AS new_graphs
    FROM (SELECT arg_min(run, (traced_at, model_id)) AS run FROM sources GROUP BY signature_sha256)
    GROUP BY run
),
failed AS (
    SELECT run_id AS run, min("at") AS started_at, count(DISTINCT subject) AS failures FROM failures GROUP BY run_id
)
SELECT
    run,
    least(traced.started_at, failed.started_at) AS started_at,
    coalesce(models, 0) AS models,
    coalesce(new_graphs, 0) AS new_graphs,
    coalesce(new_programs, 0) AS new_programs,
    coalesce(failures, 0) AS failures,
    sum(coalesce(new_programs, 0)) OVER (
        ORDER BY least(traced.started_at, failed.started_at), run
    )::BIGINT AS programs_known
FROM traced
FULL JOIN failed USING (run)
LEFT JOIN first_graphs USING (run)
LEFT JOIN first_programs USING (run)
ORDER BY started_at, run;
