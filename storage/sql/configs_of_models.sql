-- The config that each of the models $model_ids of the Hub is built from.
SELECT model_id, model_configs.config_sha256, library, model_class, model_type, model_configs.head, config, code
FROM models
JOIN model_configs USING (config_sha256)
WHERE list_contains($model_ids, model_id);
