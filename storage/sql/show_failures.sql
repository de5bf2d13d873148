-- What still stands against the model $model_id, whether given in full or without its source.
SELECT subject, step, reason, detail
FROM current_failures
WHERE subject = $model_id OR ends_with(subject, '/' || $model_id)
ORDER BY subject, step;
