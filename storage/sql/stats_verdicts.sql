-- Verdicts by constraint and level, counted over signatures, with the reasons of those that did not pass.
WITH reasons AS (
    SELECT "constraint", level, string_agg(reason || ' ' || number, ', ' ORDER BY number DESC, reason) AS reasons
    FROM (
        SELECT "constraint", level, reason, count(*) AS number
        FROM constraints
        WHERE reason IS NOT NULL
        GROUP BY ALL
    )
    GROUP BY ALL
)
SELECT
    "constraint",
    level,
    count(*) FILTER (outcome = 'passed') AS passed,
    count(*) FILTER (outcome = 'failed') AS failed,
    count(*) FILTER (outcome = 'not_applicable') AS not_applicable,
    any_value(reasons) AS reasons
FROM constraints
LEFT JOIN reasons USING ("constraint", level)
GROUP BY "constraint", level
ORDER BY "constraint", list_position(['static', 'fake', 'real'], level);
