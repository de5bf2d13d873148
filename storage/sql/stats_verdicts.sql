-- Verdicts by constraint and level, counted over signatures.
SELECT
    "constraint",
    level,
    count(*) FILTER (outcome = 'passed') AS passed,
    count(*) FILTER (outcome = 'failed') AS failed,
    count(*) FILTER (outcome = 'not_applicable') AS not_applicable
FROM constraints
GROUP BY "constraint", level
ORDER BY "constraint", level;
