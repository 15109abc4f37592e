-- 0014_rollouts.sql: what each rollout of a deployment was asked to run, to go back to.

CREATE TABLE deployment_revisions (
  deployment_id      TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  generation         INTEGER NOT NULL,  -- of the deployment, that the rollout began with
  kind               TEXT NOT NULL CHECK (kind IN ('create', 'patch', 'restart', 'rollback')),
  initiated_by       TEXT,
  image              TEXT NOT NULL,
  port               INTEGER NOT NULL,
  health_path        TEXT,
  env_keys           TEXT NOT NULL,
  env_sealed         TEXT NOT NULL,  -- as in the deployment's row: for this deployment alone
  credentials_sealed TEXT,
  image_digest       TEXT,           -- once it ran
  started_at         INTEGER NOT NULL,
  succeeded_at       INTEGER,        -- NULL: it never ran (yet)
  PRIMARY KEY (deployment_id, generation)
) STRICT;

-- What runs now can be gone back to.
INSERT INTO deployment_revisions (deployment_id, generation, kind, image, port, health_path, env_keys,
  env_sealed, credentials_sealed, image_digest, started_at, succeeded_at)
  SELECT id, generation, 'create', image, port, health_path, env_keys, env_sealed, credentials_sealed,
    image_digest, updated_at,
    CASE WHEN status = 'running' AND reason IS NOT 'rollout_failed' THEN updated_at END
  FROM deployments WHERE status <> 'destroyed';
