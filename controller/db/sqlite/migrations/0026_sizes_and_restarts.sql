-- 0026_sizes_and_restarts.sql: how the newest change of a deployment's size came to its containers, and restarts of one
-- process.

-- Whether they got it while they ran, or were replaced. NULL: the newest change wasn't one of size alone, or nothing of
-- it has come to the containers yet.
ALTER TABLE deployments ADD COLUMN resized TEXT CHECK (resized IN ('in_place', 'rollout'));
-- How often each process was restarted by itself: a JSON object of numbers by the names of processes.
ALTER TABLE deployments ADD COLUMN process_rollouts TEXT NOT NULL DEFAULT '{}';
-- When the owner was told of a rollback from a pushed image by mail last.
ALTER TABLE deployment_pushes ADD COLUMN mailed_at INTEGER;
-- Those whose release has failed are looked through when points arrive: it may have been for want of them.
CREATE INDEX deployments_without_release ON deployments (app_id, id) WHERE reason = 'release_failed';
