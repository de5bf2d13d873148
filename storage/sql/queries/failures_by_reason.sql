-- Failures by reason
-- What still stands between named models and their graphs: step, reason, how many models, and one of them with its
-- error. Says which kind of model the corpus lacks, so that shares are read with care.
SELECT
    step,
    reason,
    count(*) AS subjects,
    min(subject) AS example,
    arg_min(detail, subject) AS example_detail
FROM current_failures
GROUP BY ALL
ORDER BY subjects DESC, step, reason;
