-- Rows that point at rows which are not there, and numbers of rows that are not so many, as (table_name, id, problem);
-- none in a sound corpus.
SELECT 'graph_sources' AS table_name, model_id AS id, 'its graph ' || signature_sha256 || ' is missing' AS problem
FROM graph_sources ANTI JOIN graphs USING (signature_sha256)
UNION ALL
SELECT 'graph_sources', model_id, 'its model is missing from table models'
FROM graph_sources ANTI JOIN models USING (model_id)
UNION ALL
SELECT 'graphs', signature_sha256, 'no model is its source'
FROM graphs ANTI JOIN graph_sources USING (signature_sha256)
UNION ALL
SELECT 'graphs', signature_sha256, 'its text is missing'
FROM graphs ANTI JOIN graph_texts USING (signature_sha256)
UNION ALL
SELECT 'graph_texts', signature_sha256, 'its graph is missing'
FROM graph_texts ANTI JOIN graphs USING (signature_sha256)
UNION ALL
SELECT 'constraints', signature_sha256, 'its graph is missing'
FROM (SELECT DISTINCT signature_sha256 FROM constraints) ANTI JOIN graphs USING (signature_sha256)
UNION ALL
SELECT 'nodes', signature_sha256, 'its graph is missing'
FROM (SELECT DISTINCT signature_sha256 FROM nodes) ANTI JOIN graphs USING (signature_sha256)
UNION ALL
SELECT 'nodes', signature_sha256, 'has ' || coalesce(num_rows, 0) || ' rows, the graph ' || num_ops || ' ops'
FROM graphs
LEFT JOIN (
    SELECT signature_sha256, count(*) AS num_rows, max("index") AS last_index FROM nodes GROUP BY signature_sha256
) USING (signature_sha256)
WHERE coalesce(num_rows, 0) <> num_ops OR coalesce(last_index, -1) <> num_ops - 1
UNION ALL
SELECT 'occurrences', subgraph_sha256, 'its subgraph (' || kind || ') is missing'
FROM (SELECT DISTINCT subgraph_sha256, kind FROM occurrences) ANTI JOIN subgraphs USING (subgraph_sha256, kind)
UNION ALL
SELECT 'occurrences', signature_sha256, 'its graph is missing'
FROM (SELECT DISTINCT signature_sha256 FROM occurrences) ANTI JOIN graphs USING (signature_sha256)
UNION ALL
SELECT 'subgraphs', subgraph_sha256, 'its text is missing'
FROM (SELECT subgraph_sha256 FROM subgraphs WHERE kind <> 'single_op') ANTI JOIN subgraph_texts USING (subgraph_sha256)
UNION ALL
SELECT 'subgraphs', subgraph_sha256, 'occurs nowhere'
FROM subgraphs ANTI JOIN (
    SELECT subgraph_sha256, kind FROM occurrences
    UNION ALL
    SELECT single_op_sha256, 'single_op' FROM nodes
) USING (subgraph_sha256, kind)
UNION ALL
SELECT 'patterns', grammar_id, 'its grammar is missing'
FROM (SELECT DISTINCT grammar_id FROM patterns) ANTI JOIN grammars USING (grammar_id)
UNION ALL
SELECT 'mined_graphs', signature_sha256, 'says ' || num_occurrences || ' occurrences, there are ' || coalesce(num_rows, 0)
FROM mined_graphs
LEFT JOIN (
    SELECT signature_sha256, kind, grammar_id, count(*) AS num_rows FROM occurrences GROUP BY ALL
) USING (signature_sha256, kind, grammar_id)
WHERE num_occurrences <> coalesce(num_rows, 0)
UNION ALL
SELECT 'kernel_curves', signature_sha256, 'its graph is missing'
FROM (SELECT DISTINCT signature_sha256 FROM kernel_curves) ANTI JOIN graphs USING (signature_sha256)
UNION ALL
SELECT 'kernel_curves', signature_sha256, 'has ' || len(kernels) || ' positions, the graph ' || num_ops || ' ops'
FROM kernel_curves JOIN graphs USING (signature_sha256)
WHERE len(kernels) <> num_ops
UNION ALL
SELECT 'fusion_boundaries', signature_sha256, 'its curve (' || target || ') is missing'
FROM (SELECT DISTINCT signature_sha256, target, counter, is_exact FROM fusion_boundaries)
ANTI JOIN kernel_curves USING (signature_sha256, target, counter, is_exact)
UNION ALL
SELECT 'variants', model_id, 'its model is missing from table models'
FROM (SELECT DISTINCT model_id FROM variants) ANTI JOIN models USING (model_id)
UNION ALL
SELECT 'generalizations', subgraph_sha256, 'its subgraph is missing'
FROM generalizations ANTI JOIN subgraphs USING (subgraph_sha256)
UNION ALL
SELECT 'generalizations', subgraph_sha256, 'its graph ' || signature_sha256 || ' is missing'
FROM generalizations ANTI JOIN graphs USING (signature_sha256)
UNION ALL
SELECT 'generalizations', subgraph_sha256, 'its model ' || model_id || ' has no graph ' || signature_sha256
FROM generalizations ANTI JOIN graph_sources USING (model_id, signature_sha256)
UNION ALL
SELECT 'generalizations', subgraph_sha256, 'ops [' || start || ', ' || "end" || ') of its graph are no occurrence'
FROM generalizations
ANTI JOIN (
    SELECT subgraph_sha256, signature_sha256, start, "end" FROM occurrences
    UNION ALL
    SELECT single_op_sha256, signature_sha256, "index", "index" + 1 FROM nodes
) USING (subgraph_sha256, signature_sha256, start, "end")
UNION ALL
SELECT 'instances', subgraph_sha256, 'its row in generalizations is missing'
FROM (SELECT DISTINCT subgraph_sha256 FROM instances) ANTI JOIN generalizations USING (subgraph_sha256)
UNION ALL
SELECT 'instances', subgraph_sha256, 'is of model ' || instances.model_id || ', its base of ' || generalizations.model_id
FROM instances JOIN generalizations USING (subgraph_sha256)
WHERE instances.model_id <> generalizations.model_id
UNION ALL
SELECT 'instances', instance_sha256, 'its variant (' || model_id || ', ' || shape_config || ', ' || dtype || ') is missing'
FROM instances ANTI JOIN variants USING (model_id, shape_config, dtype, signature_sha256)
UNION ALL
SELECT 'missing_instances', subgraph_sha256, 'its row in generalizations is missing'
FROM (SELECT DISTINCT subgraph_sha256 FROM missing_instances) ANTI JOIN generalizations USING (subgraph_sha256)
UNION ALL
SELECT 'missing_instances', subgraph_sha256, '(' || shape_config || ', ' || dtype || ') is an instance'
FROM missing_instances JOIN instances USING (subgraph_sha256, shape_config, dtype)
UNION ALL
SELECT 'generalizations', subgraph_sha256, 'says ' || num_instances || ' instances, there are ' || coalesce(num_rows, 0)
FROM generalizations
LEFT JOIN (SELECT subgraph_sha256, count(*) AS num_rows FROM instances GROUP BY ALL) USING (subgraph_sha256)
WHERE num_instances <> coalesce(num_rows, 0)
UNION ALL
SELECT 'generalizations', subgraph_sha256, 'says ' || num_missing || ' missing, there are ' || coalesce(num_rows, 0)
FROM generalizations
LEFT JOIN (SELECT subgraph_sha256, count(*) AS num_rows FROM missing_instances GROUP BY ALL) USING (subgraph_sha256)
WHERE num_missing <> coalesce(num_rows, 0)
UNION ALL
SELECT 'timings', instance_sha256, 'its instance is missing'
FROM (SELECT DISTINCT instance_sha256 FROM timings) ANTI JOIN instances USING (instance_sha256)
UNION ALL
SELECT 'timings', instance_sha256, 'its environment ' || environment_sha256 || ' (' || device_id || ') is missing'
FROM timings ANTI JOIN environments USING (environment_sha256, device_id)
UNION ALL
SELECT 'timings', instance_sha256, 'its run ' || run_id || ' (' || device_id || ') is missing'
FROM timings ANTI JOIN profile_runs USING (run_id, device_id)
UNION ALL
SELECT 'profile_runs', run_id, 'its environment ' || environment_sha256 || ' (' || device_id || ') is missing'
FROM profile_runs ANTI JOIN environments USING (environment_sha256, device_id)
UNION ALL
SELECT 'bench_tasks', task_id, 'says ' || num_members || ' members, there are ' || coalesce(num_rows, 0)
FROM bench_tasks
LEFT JOIN (SELECT task_id, count(*) AS num_rows FROM bench_members GROUP BY ALL) USING (task_id)
WHERE num_members <> coalesce(num_rows, 0)
UNION ALL
SELECT 'bench_members', task_id, 'its task is missing'
FROM (SELECT DISTINCT task_id FROM bench_members) ANTI JOIN bench_tasks USING (task_id)
UNION ALL
SELECT 'bench_members', instance_sha256, 'its instance is missing'
FROM (SELECT DISTINCT instance_sha256 FROM bench_members) ANTI JOIN instances USING (instance_sha256)
ORDER BY ALL;
