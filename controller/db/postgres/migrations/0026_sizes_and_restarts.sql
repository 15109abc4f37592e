-- 0026_sizes_and_restarts.sql: how the newest change of a deployment's size came to its containers, and restarts of one
-- process.
ALTER TABLE deployments ADD COLUMN resized text COLLATE "C" CHECK (resized IN ('in_place', 'rollout'));
ALTER TABLE deployments ADD COLUMN process_rollouts text COLLATE "C" NOT NULL DEFAULT '{}';
ALTER TABLE deployment_pushes ADD COLUMN mailed_at bigint;
CREATE INDEX deployments_without_release ON deployments (app_id, id) WHERE reason = 'release_failed';
