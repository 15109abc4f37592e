-- 0030_deploy_log_numbers.sql: the entries of a deployment's log are counted, because several of
-- them may have the same time.

ALTER TABLE deploy_logs ADD COLUMN number INTEGER NOT NULL DEFAULT 0;  -- rises within a deployment
UPDATE deploy_logs SET number = rowid;
CREATE UNIQUE INDEX deploy_logs_in_order ON deploy_logs (deployment_id, number);
DROP INDEX deploy_logs_by_deployment;
