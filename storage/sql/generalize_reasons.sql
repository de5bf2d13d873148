-- Why instances are missing, of subgraphs whose outputs depend on a data input and of the others, commonest first.
SELECT depends_on_input, reason, count(*) AS instances, count(DISTINCT subgraph_sha256) AS subgraphs
FROM missing_instances
JOIN generalizations USING (subgraph_sha256)
GROUP BY ALL
ORDER BY depends_on_input DESC, instances DESC, reason
