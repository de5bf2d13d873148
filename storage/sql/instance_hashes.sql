-- The instances whose hash begins with $prefix.
SELECT DISTINCT instance_sha256 FROM instances WHERE starts_with(instance_sha256, $prefix) ORDER BY ALL;
