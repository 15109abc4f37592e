-- 0014_processes.sql: what a deployment runs besides one container. Every deployment so far has one container of the
-- process web. JSON in the forms of controller/base/processes.h. A revision has them, too, so that a rollback brings them
-- back.
ALTER TABLE deployments ADD COLUMN replicas INTEGER NOT NULL DEFAULT 1 CHECK (replicas > 0);
ALTER TABLE deployments ADD COLUMN scale TEXT;
ALTER TABLE deployments ADD COLUMN processes TEXT NOT NULL DEFAULT '{}';
ALTER TABLE deployments ADD COLUMN release_command TEXT NOT NULL DEFAULT '[]';
ALTER TABLE deployments ADD COLUMN crons TEXT NOT NULL DEFAULT '[]';
ALTER TABLE deployments ADD COLUMN auto_deploy INTEGER NOT NULL DEFAULT 0 CHECK (auto_deploy IN (0, 1));
ALTER TABLE deployment_revisions ADD COLUMN replicas INTEGER NOT NULL DEFAULT 1;
ALTER TABLE deployment_revisions ADD COLUMN scale TEXT;
ALTER TABLE deployment_revisions ADD COLUMN processes TEXT NOT NULL DEFAULT '{}';
ALTER TABLE deployment_revisions ADD COLUMN release_command TEXT NOT NULL DEFAULT '[]';
ALTER TABLE deployment_revisions ADD COLUMN crons TEXT NOT NULL DEFAULT '[]';
ALTER TABLE deployment_revisions ADD COLUMN auto_deploy INTEGER NOT NULL DEFAULT 0;

-- How many containers of its processes a deployment may have at once, and whether its owner may run commands in them.
ALTER TABLE deploy_tiers ADD COLUMN max_replicas INTEGER NOT NULL DEFAULT 3 CHECK (max_replicas > 0);
ALTER TABLE deploy_tiers ADD COLUMN exec_allowed INTEGER NOT NULL DEFAULT 0 CHECK (exec_allowed IN (0, 1));

-- How many containers the autoscaler wants of a process that has `scale`.
CREATE TABLE deployment_scales (
  deployment_id TEXT NOT NULL REFERENCES deployments (id),
  process       TEXT NOT NULL,
  replicas      INTEGER NOT NULL CHECK (replicas > 0),
  updated_at    INTEGER NOT NULL,
  PRIMARY KEY (deployment_id, process)
) STRICT, WITHOUT ROWID;
