-- 0014_processes.sql: what a deployment runs besides one container, the limits of tiers for that, and what the autoscaler
-- wants. PostgreSQL rewrites no row for a column with a constant default.
ALTER TABLE deployments
  ADD COLUMN replicas        bigint NOT NULL DEFAULT 1 CHECK (replicas > 0),
  ADD COLUMN scale           text COLLATE "C",
  ADD COLUMN processes       text COLLATE "C" NOT NULL DEFAULT '{}',
  ADD COLUMN release_command text COLLATE "C" NOT NULL DEFAULT '[]',
  ADD COLUMN crons           text COLLATE "C" NOT NULL DEFAULT '[]',
  ADD COLUMN auto_deploy     bigint NOT NULL DEFAULT 0 CHECK (auto_deploy IN (0, 1));
ALTER TABLE deployment_revisions
  ADD COLUMN replicas        bigint NOT NULL DEFAULT 1,
  ADD COLUMN scale           text COLLATE "C",
  ADD COLUMN processes       text COLLATE "C" NOT NULL DEFAULT '{}',
  ADD COLUMN release_command text COLLATE "C" NOT NULL DEFAULT '[]',
  ADD COLUMN crons           text COLLATE "C" NOT NULL DEFAULT '[]',
  ADD COLUMN auto_deploy     bigint NOT NULL DEFAULT 0;
ALTER TABLE deploy_tiers
  ADD COLUMN max_replicas bigint NOT NULL DEFAULT 3 CHECK (max_replicas > 0),
  ADD COLUMN exec_allowed bigint NOT NULL DEFAULT 0 CHECK (exec_allowed IN (0, 1));
CREATE TABLE deployment_scales (
  deployment_id text COLLATE "C" NOT NULL REFERENCES deployments (id),
  process       text COLLATE "C" NOT NULL,
  replicas      bigint NOT NULL CHECK (replicas > 0),
  updated_at    bigint NOT NULL,
  PRIMARY KEY (deployment_id, process)
);
