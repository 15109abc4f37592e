-- 0036_present_deployments.sql: the meter looks at an app's deployments that may still run, and not at all that it has ever
-- had.
CREATE INDEX deployments_present ON deployments (app_id) WHERE removed_at IS NULL;
