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

-- Alerts tell a failed release like any other rollout that fails, and a cron that fails again and again once in half an
-- hour.
DROP TRIGGER app_events_to_alerts;
CREATE TRIGGER app_events_to_alerts AFTER INSERT ON app_events
BEGIN
  INSERT INTO alert_events (alert_id, app_id, uuid, type, data, at, due_at)
  SELECT a.id, NEW.app_id, NEW.uuid, told.type, NEW.data, NEW.at, max(NEW.at + 2000, a.not_before)
  FROM apps p
  JOIN alerts a ON a.owner_id = p.owner_id
  JOIN (SELECT CASE
                 WHEN NEW.type = 'deployment.domain'
                   THEN CASE WHEN json_extract(NEW.data, '$.state') = 'failed' THEN 'certificate.failed' END
                 WHEN NEW.type <> 'deployment.status' THEN NEW.type
                 WHEN coalesce(json_extract(NEW.data, '$.cause'), json_extract(NEW.data, '$.reason'))
                      IN ('crash_loop', 'out_of_memory') THEN 'deployment.crashed'
                 WHEN json_extract(NEW.data, '$.reason') = 'certificate_failed'
                   THEN CASE WHEN NOT EXISTS (SELECT 1 FROM custom_domains c
                                              WHERE c.deployment_id = NEW.subject AND c.released_at IS NULL)
                             THEN 'certificate.failed' END
                 WHEN json_extract(NEW.data, '$.status') = 'errored'
                   OR json_extract(NEW.data, '$.reason') IN ('rollout_failed', 'release_failed') THEN 'deployment.failed'
               END AS type) told
  WHERE p.id = NEW.app_id
    AND told.type IS NOT NULL
    AND (a.app_id IS NULL OR a.app_id = NEW.app_id)
    AND a.disabled_at IS NULL
    AND EXISTS (SELECT 1 FROM json_each(a.events) wanted WHERE wanted.value = told.type)
    AND (SELECT count(*) FROM alert_events e WHERE e.alert_id = a.id) <
      CASE WHEN told.type = 'points.spent' THEN 50 ELSE 100 END
    AND (NEW.type NOT IN ('deployment.status', 'deployment.domain', 'deployment.run_failed')
         OR NOT EXISTS (
           SELECT 1
           FROM app_events e
           WHERE e.subject = NEW.subject AND e.id < NEW.id AND e.type = NEW.type AND e.at > NEW.at - 1800000
             AND json_extract(e.data, '$.status') IS json_extract(NEW.data, '$.status')
             AND json_extract(e.data, '$.domain') IS json_extract(NEW.data, '$.domain')
             AND json_extract(e.data, '$.state') IS json_extract(NEW.data, '$.state')
             AND json_extract(e.data, '$.kind') IS json_extract(NEW.data, '$.kind')
             AND json_extract(e.data, '$.name') IS json_extract(NEW.data, '$.name')
             AND json_extract(e.data, '$.reason') IS json_extract(NEW.data, '$.reason')
             AND json_extract(e.data, '$.cause') IS json_extract(NEW.data, '$.cause')));
END;
