-- 0012_alerts.sql: alerts, by which people learn what happened to their apps: in a mail, or in a chat.

-- Whether somebody wants the events of the app's spends: a webhook or an alert. It is read with each token, so that a
-- spend of which nobody wants to know costs nothing more. It may be 1 without anybody, and never 0 with somebody.
ALTER TABLE apps ADD COLUMN tells_of_spends INTEGER NOT NULL DEFAULT 0 CHECK (tells_of_spends IN (0, 1));

CREATE TABLE alerts (
  id            TEXT PRIMARY KEY,
  owner_id      TEXT NOT NULL REFERENCES users (id),
  app_id        TEXT REFERENCES apps (id),  -- NULL: all apps of the owner
  name          TEXT NOT NULL,
  channel       TEXT NOT NULL CHECK (channel IN ('mail', 'discord', 'slack', 'telegram', 'webhook')),
  target        TEXT NOT NULL,  -- what may be shown of where it goes: a host, or a chat; empty for mail
  target_sealed TEXT CHECK ((target_sealed IS NULL) = (channel = 'mail')),  -- the URL, or the token and the chat
  events        TEXT NOT NULL,  -- a JSON array of types
  -- Nothing is sent before. After a message it is the end of the channel's pause, after a failure the next attempt.
  not_before    INTEGER NOT NULL DEFAULT 0,
  attempts      INTEGER NOT NULL DEFAULT 0,  -- since the last message that arrived
  failing_since INTEGER,
  last_sent_at  INTEGER,
  last_error    TEXT,     -- of the last attempt, if that failed
  disabled_at   INTEGER,  -- it has failed too often and sends nothing until its owner changes it
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX alerts_by_owner ON alerts (owner_id, created_at, id);
CREATE INDEX alerts_by_app ON alerts (app_id) WHERE app_id IS NOT NULL;

-- What waits to be told. It is a copy of the event, which may go earlier.
CREATE TABLE alert_events (
  number   INTEGER PRIMARY KEY AUTOINCREMENT,
  alert_id TEXT NOT NULL REFERENCES alerts (id),
  app_id   TEXT,           -- NULL: a test of an alert of all apps
  uuid     TEXT NOT NULL,  -- the event's
  type     TEXT NOT NULL,  -- as alerts call it, such as deployment.crashed
  data     TEXT NOT NULL,
  at       INTEGER NOT NULL,
  due_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX alert_events_by_alert ON alert_events (alert_id, number);
CREATE INDEX alert_events_due ON alert_events (due_at, alert_id);

-- One row for each alert that wants the event, two seconds later at the earliest, so that one message tells of what
-- comes together. At most 100 wait for an alert, and spends leave half of that to the others. A status is only told if it
-- is a trouble, and a trouble of a deployment once: again when half an hour has passed without it. The certificate of a
-- custom domain is told by deployment.domain.
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
                   OR json_extract(NEW.data, '$.reason') = 'rollout_failed' THEN 'deployment.failed'
               END AS type) told
  WHERE p.id = NEW.app_id
    AND told.type IS NOT NULL
    AND (a.app_id IS NULL OR a.app_id = NEW.app_id)
    AND a.disabled_at IS NULL
    AND EXISTS (SELECT 1 FROM json_each(a.events) wanted WHERE wanted.value = told.type)
    AND (SELECT count(*) FROM alert_events e WHERE e.alert_id = a.id) <
      CASE WHEN told.type = 'points.spent' THEN 50 ELSE 100 END
    AND (NEW.type NOT IN ('deployment.status', 'deployment.domain')
         OR NOT EXISTS (
           SELECT 1
           FROM app_events e
           WHERE e.subject = NEW.subject AND e.id < NEW.id AND e.type = NEW.type AND e.at > NEW.at - 1800000
             AND json_extract(e.data, '$.status') IS json_extract(NEW.data, '$.status')
             AND json_extract(e.data, '$.domain') IS json_extract(NEW.data, '$.domain')
             AND json_extract(e.data, '$.state') IS json_extract(NEW.data, '$.state')
             AND json_extract(e.data, '$.reason') IS json_extract(NEW.data, '$.reason')
             AND json_extract(e.data, '$.cause') IS json_extract(NEW.data, '$.cause')));
END;

CREATE TRIGGER alerts_of_deleted_apps AFTER UPDATE OF deleted_at ON apps
WHEN NEW.deleted_at IS NOT NULL
BEGIN
  DELETE FROM alert_events
  WHERE alert_id IN (SELECT id FROM alerts WHERE owner_id = NEW.owner_id) AND app_id = NEW.id;
  DELETE FROM alert_events WHERE alert_id IN (SELECT id FROM alerts WHERE app_id = NEW.id);
  DELETE FROM alerts WHERE app_id = NEW.id;
END;
CREATE TRIGGER alerts_of_deleted_users AFTER UPDATE OF deleted_at ON users
WHEN NEW.deleted_at IS NOT NULL
BEGIN
  DELETE FROM alert_events WHERE alert_id IN (SELECT id FROM alerts WHERE owner_id = NEW.id);
  DELETE FROM alerts WHERE owner_id = NEW.id;
END;
