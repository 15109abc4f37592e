-- 0017_runs.sql: commands that a deployment runs once, each in a container of its own: before a rollout, because somebody
-- asked for it, or at a set time.
CREATE TABLE deployment_runs (
  id              TEXT PRIMARY KEY,  -- a UUIDv7
  deployment_id   TEXT NOT NULL REFERENCES deployments (id),
  app_id          TEXT NOT NULL REFERENCES apps (id),
  owner_id        TEXT NOT NULL REFERENCES users (id),  -- of the app: limits count over all its apps
  kind            TEXT NOT NULL CHECK (kind IN ('release', 'run', 'cron')),
  name            TEXT NOT NULL DEFAULT '',  -- of the cron
  minute          INTEGER,  -- for which the cron was due; NULL: somebody started it
  generation      INTEGER NOT NULL,  -- the rollout whose image and variables it has
  process         TEXT NOT NULL,
  command         TEXT NOT NULL,  -- a JSON array
  image           TEXT NOT NULL,
  image_digest    TEXT,
  timeout_seconds INTEGER NOT NULL CHECK (timeout_seconds BETWEEN 1 AND 86400),
  status          TEXT NOT NULL CHECK (status IN ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
  exit_code       INTEGER,
  reason          TEXT,  -- why it failed or was cancelled, in one word
  message         TEXT,  -- and in the cluster's words
  created_by      TEXT REFERENCES users (id),
  inserted_at     INTEGER NOT NULL,
  made_at         INTEGER,  -- when the cluster had its Job
  started_at      INTEGER,
  finished_at     INTEGER,
  CHECK ((kind = 'cron') = (name <> '')),
  CHECK (kind = 'cron' OR minute IS NULL),
  CHECK ((status IN ('pending', 'running')) = (finished_at IS NULL)),
  CHECK ((status IN ('failed', 'cancelled')) = (reason IS NOT NULL)),
  CHECK (status <> 'running' OR started_at IS NOT NULL)
) STRICT;
-- A rollout has one release, and a minute of a cron one run, whoever asks for it how often.
CREATE UNIQUE INDEX deployment_runs_release ON deployment_runs (deployment_id, generation) WHERE kind = 'release';
CREATE UNIQUE INDEX deployment_runs_minute ON deployment_runs (deployment_id, name, minute) WHERE minute IS NOT NULL;
CREATE INDEX deployment_runs_of_deployment ON deployment_runs (deployment_id, id);
CREATE INDEX deployment_runs_of_cron ON deployment_runs (deployment_id, name, id) WHERE kind = 'cron';
CREATE INDEX deployment_runs_open ON deployment_runs (id) WHERE finished_at IS NULL;
CREATE INDEX deployment_runs_open_of_deployment ON deployment_runs (deployment_id, id) WHERE finished_at IS NULL;
CREATE INDEX deployment_runs_open_of_owner ON deployment_runs (owner_id) WHERE finished_at IS NULL;
CREATE INDEX deployment_runs_finished ON deployment_runs (finished_at) WHERE finished_at IS NOT NULL;

-- What a run that is over has written, as far as it is kept. The row goes with the run's.
CREATE TABLE deployment_run_logs (
  run_id TEXT PRIMARY KEY REFERENCES deployment_runs (id) ON DELETE CASCADE,
  lines  TEXT NOT NULL,
  is_cut INTEGER NOT NULL CHECK (is_cut IN (0, 1))
) STRICT;

-- When each cron of a deployment is due next. The crons themselves are in deployments.crons.
CREATE TABLE deployment_crons (
  deployment_id TEXT NOT NULL REFERENCES deployments (id),
  name          TEXT NOT NULL,
  schedule      TEXT NOT NULL,
  zone          TEXT NOT NULL,
  next_at       INTEGER,  -- the minute of its next run; NULL while the deployment is stopped
  due_at        INTEGER,  -- when the loop has to look at it: then, or later if that failed
  skipped_at    INTEGER,  -- the newest minute without a run, until a later one has one
  skipped       TEXT CHECK (skipped IN ('overlap', 'limit', 'points_missing', 'not_deployed')),
  PRIMARY KEY (deployment_id, name),
  CHECK ((next_at IS NULL) = (due_at IS NULL)),
  CHECK ((skipped_at IS NULL) = (skipped IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX deployment_crons_due ON deployment_crons (due_at) WHERE due_at IS NOT NULL;
