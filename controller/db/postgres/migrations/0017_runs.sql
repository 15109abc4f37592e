-- 0017_runs.sql: commands that a deployment runs once, each in a container of its own; SQLite's file says what the
-- columns mean.
CREATE TABLE deployment_runs (
  id              text COLLATE "C" PRIMARY KEY,
  deployment_id   text COLLATE "C" NOT NULL REFERENCES deployments (id),
  app_id          text COLLATE "C" NOT NULL REFERENCES apps (id),
  owner_id        text COLLATE "C" NOT NULL REFERENCES users (id),
  kind            text COLLATE "C" NOT NULL CHECK (kind IN ('release', 'run', 'cron')),
  name            text COLLATE "C" NOT NULL DEFAULT '',
  minute          bigint,
  generation      bigint NOT NULL,
  process         text COLLATE "C" NOT NULL,
  command         text COLLATE "C" NOT NULL,
  image           text COLLATE "C" NOT NULL,
  image_digest    text COLLATE "C",
  timeout_seconds bigint NOT NULL CHECK (timeout_seconds BETWEEN 1 AND 86400),
  status          text COLLATE "C" NOT NULL
    CHECK (status IN ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
  exit_code       bigint,
  reason          text COLLATE "C",
  message         text COLLATE "C",
  created_by      text COLLATE "C" REFERENCES users (id),
  inserted_at     bigint NOT NULL,
  made_at         bigint,
  started_at      bigint,
  finished_at     bigint,
  CHECK ((kind = 'cron') = (name <> '')),
  CHECK (kind = 'cron' OR minute IS NULL),
  CHECK ((status IN ('pending', 'running')) = (finished_at IS NULL)),
  CHECK ((status IN ('failed', 'cancelled')) = (reason IS NOT NULL)),
  CHECK (status <> 'running' OR started_at IS NOT NULL)
);
CREATE UNIQUE INDEX deployment_runs_release ON deployment_runs (deployment_id, generation) WHERE kind = 'release';
CREATE UNIQUE INDEX deployment_runs_minute ON deployment_runs (deployment_id, name, minute) WHERE minute IS NOT NULL;
CREATE INDEX deployment_runs_of_deployment ON deployment_runs (deployment_id, id);
CREATE INDEX deployment_runs_of_cron ON deployment_runs (deployment_id, name, id) WHERE kind = 'cron';
CREATE INDEX deployment_runs_open ON deployment_runs (id) WHERE finished_at IS NULL;
CREATE INDEX deployment_runs_open_of_deployment ON deployment_runs (deployment_id, id) WHERE finished_at IS NULL;
CREATE INDEX deployment_runs_open_of_owner ON deployment_runs (owner_id) WHERE finished_at IS NULL;
CREATE INDEX deployment_runs_finished ON deployment_runs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE deployment_run_logs (
  run_id text COLLATE "C" PRIMARY KEY REFERENCES deployment_runs (id) ON DELETE CASCADE,
  lines  text COLLATE "C" NOT NULL,
  is_cut bigint NOT NULL CHECK (is_cut IN (0, 1))
);

CREATE TABLE deployment_crons (
  deployment_id text COLLATE "C" NOT NULL REFERENCES deployments (id),
  name          text COLLATE "C" NOT NULL,
  schedule      text COLLATE "C" NOT NULL,
  zone          text COLLATE "C" NOT NULL,
  next_at       bigint,
  due_at        bigint,
  skipped_at    bigint,
  skipped       text COLLATE "C" CHECK (skipped IN ('overlap', 'limit', 'points_missing', 'not_deployed')),
  PRIMARY KEY (deployment_id, name),
  CHECK ((next_at IS NULL) = (due_at IS NULL)),
  CHECK ((skipped_at IS NULL) = (skipped IS NULL))
);
CREATE INDEX deployment_crons_due ON deployment_crons (due_at) WHERE due_at IS NOT NULL;

CREATE OR REPLACE FUNCTION app_events_to_alerts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  what json := NEW.data::json;
  told text := NEW.type;
BEGIN
  IF NEW.type = 'deployment.domain' THEN
    told := CASE WHEN what ->> 'state' = 'failed' THEN 'certificate.failed' END;
  ELSIF NEW.type = 'deployment.status' THEN
    told := CASE
      WHEN coalesce(what ->> 'cause', what ->> 'reason') IN ('crash_loop', 'out_of_memory') THEN 'deployment.crashed'
      WHEN what ->> 'reason' = 'certificate_failed'
        THEN CASE WHEN NOT EXISTS (SELECT 1 FROM custom_domains c
                                   WHERE c.deployment_id = NEW.subject AND c.released_at IS NULL)
                  THEN 'certificate.failed' END
      WHEN what ->> 'status' = 'errored' OR what ->> 'reason' IN ('rollout_failed', 'release_failed')
        THEN 'deployment.failed'
    END;
  END IF;
  IF told IS NULL THEN
    RETURN NULL;
  END IF;
  INSERT INTO alert_events (alert_id, app_id, uuid, type, data, at, due_at)
  SELECT a.id, NEW.app_id, NEW.uuid, told, NEW.data, NEW.at, greatest(NEW.at + 2000, a.not_before)
  FROM apps p
  JOIN alerts a ON a.owner_id = p.owner_id
  WHERE p.id = NEW.app_id
    AND (a.app_id IS NULL OR a.app_id = NEW.app_id)
    AND a.disabled_at IS NULL
    AND EXISTS (SELECT 1 FROM json_array_elements_text(a.events::json) AS wanted (type) WHERE wanted.type = told)
    AND (SELECT count(*) FROM alert_events e WHERE e.alert_id = a.id) <
      CASE WHEN told = 'points.spent' THEN 50 ELSE 100 END
    AND (NEW.type NOT IN ('deployment.status', 'deployment.domain', 'deployment.run_failed')
         OR NOT EXISTS (
           SELECT 1
           FROM app_events e
           WHERE e.subject = NEW.subject AND e.id < NEW.id AND e.type = NEW.type AND e.at > NEW.at - 1800000
             AND e.data::json ->> 'status' IS NOT DISTINCT FROM what ->> 'status'
             AND e.data::json ->> 'domain' IS NOT DISTINCT FROM what ->> 'domain'
             AND e.data::json ->> 'state' IS NOT DISTINCT FROM what ->> 'state'
             AND e.data::json ->> 'kind' IS NOT DISTINCT FROM what ->> 'kind'
             AND e.data::json ->> 'name' IS NOT DISTINCT FROM what ->> 'name'
             AND e.data::json ->> 'reason' IS NOT DISTINCT FROM what ->> 'reason'
             AND e.data::json ->> 'cause' IS NOT DISTINCT FROM what ->> 'cause'));
  RETURN NULL;
END $$;
