-- Subgraphs of $kinds without a row in generalizations, by the graph that each is to be cut out of: of the $usable ones
-- (generalize_graphs.sql) that hold it, less those that $passed_over has for it (subgraph and signature, a space between),
-- the one of the lowest signature of those that it ends in within $few_ops, else the one that it ends in first; those
-- that have no model last. A single op is at the place that $single_ops has for it. What asks for the fewest ops comes
-- first.
WITH usable AS (
    SELECT graph.*
    FROM (SELECT unnest($usable::STRUCT(signature_sha256 VARCHAR, model_id VARCHAR, is_recorded BOOLEAN)[]) AS graph)
),

places AS (
    SELECT
        subgraph_sha256,
        signature_sha256,
        start,
        "end",
        count(DISTINCT signature_sha256) OVER (PARTITION BY subgraph_sha256) AS num_graphs,
        false AS is_single_op
    FROM occurrences
    JOIN usable USING (signature_sha256)
    ANTI JOIN generalizations USING (subgraph_sha256)
    WHERE
        list_contains($kinds, kind)
        AND NOT list_contains($passed_over::VARCHAR[], concat_ws(' ', subgraph_sha256, signature_sha256))
    QUALIFY
        row_number() OVER (
            PARTITION BY subgraph_sha256
            ORDER BY is_recorded, greatest("end", $few_ops), signature_sha256, start, "end"
        ) = 1
    UNION ALL
    SELECT place.*, true
    FROM (
        SELECT unnest(
            $single_ops::STRUCT(
                subgraph_sha256 VARCHAR, signature_sha256 VARCHAR, start INTEGER, "end" INTEGER, num_graphs INTEGER
            )[]
        ) AS place
    )
)

SELECT
    signature_sha256,
    any_value(model_id) AS model_id,
    any_value(is_recorded) AS is_recorded,
    list(
        {
            'subgraph_sha256': subgraph_sha256,
            'start': start,
            'end': "end",
            'is_single_op': is_single_op,
            'num_graphs': num_graphs
        }
        ORDER BY start, "end"
    ) AS places
FROM places
JOIN usable USING (signature_sha256)
GROUP BY signature_sha256
ORDER BY max("end"), signature_sha256
