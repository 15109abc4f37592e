-- 0011_webhooks.sql: what happened to an app's deployments and money, for those who follow it by
-- server-sent events, and whom to tell of it by HTTP.

-- Each row commits with what it is about. `id` only rises, also over rows that are gone: it is the
-- id of server-sent events.
CREATE TABLE app_events (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  -- A UUIDv7 (RFC 9562, section 5.7), of the machine's clock.
  uuid    TEXT NOT NULL UNIQUE DEFAULT (lower(
    substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)), 1, 8)
    || '-' || substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)), 9)
    || '-7' || substr(hex(randomblob(2)), 2)
    || '-' || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2)
    || '-' || hex(randomblob(6)))),
  app_id  TEXT NOT NULL REFERENCES apps (id),
  type    TEXT NOT NULL,  -- deployment.status, …; deployment.progress is for streams alone
  subject TEXT NOT NULL,  -- what is told in order: a deployment's id, a campaign's, …
  data    TEXT NOT NULL,  -- a JSON object
  at      INTEGER NOT NULL
) STRICT;
CREATE INDEX app_events_by_subject ON app_events (subject, id);
CREATE INDEX app_events_by_time ON app_events (at);

CREATE TABLE webhooks (
  id            TEXT PRIMARY KEY,
  app_id        TEXT NOT NULL REFERENCES apps (id),
  url           TEXT NOT NULL,
  secret_sealed TEXT NOT NULL,
  events        TEXT NOT NULL,  -- a JSON array of types
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX webhooks_by_app ON webhooks (app_id, created_at);

CREATE TABLE webhook_deliveries (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid            TEXT NOT NULL UNIQUE DEFAULT (lower(
    substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)), 1, 8)
    || '-' || substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)), 9)
    || '-7' || substr(hex(randomblob(2)), 2)
    || '-' || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2)
    || '-' || hex(randomblob(6)))),
  webhook_id      TEXT NOT NULL REFERENCES webhooks (id),
  event_id        INTEGER NOT NULL REFERENCES app_events (id),
  subject         TEXT NOT NULL,  -- of the event
  state           TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts        INTEGER NOT NULL DEFAULT 0,
  -- Not before. The same for all that wait behind each other, so that only what can be sent is due.
  next_attempt_at INTEGER NOT NULL,
  last_attempt_at INTEGER,
  response_status INTEGER,
  last_error      TEXT,
  created_at      INTEGER NOT NULL,
  done_at         INTEGER  -- delivered or failed
) STRICT;
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_by_event ON webhook_deliveries (event_id);
CREATE INDEX webhook_deliveries_in_order ON webhook_deliveries (webhook_id, subject, id)
  WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at, id)
  WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_done ON webhook_deliveries (done_at) WHERE done_at IS NOT NULL;

-- One delivery for each webhook that wants it. A receiver for which 500 wait has been away for long:
-- it misses what comes until it takes some. Those of one subject keep their order, so that what is
-- new waits for what waits already.
CREATE TRIGGER app_events_to_webhooks AFTER INSERT ON app_events
BEGIN
  INSERT INTO webhook_deliveries (webhook_id, event_id, subject, next_attempt_at, created_at)
  SELECT w.id, NEW.id, NEW.subject,
         coalesce((SELECT max(d.next_attempt_at) FROM webhook_deliveries d
                   WHERE d.webhook_id = w.id AND d.subject = NEW.subject AND d.state = 'waiting'),
                  NEW.at),
         NEW.at
  FROM webhooks w
  WHERE w.app_id = NEW.app_id
    AND EXISTS (SELECT 1 FROM json_each(w.events) wanted WHERE wanted.value = NEW.type)
    AND (SELECT count(*) FROM webhook_deliveries d
         WHERE d.webhook_id = w.id AND d.state = 'waiting') < 500;
END;

-- The newest 200 of a subject stay (and what a delivery needs): a container that crashes all the
-- time says so all the time.
CREATE TRIGGER app_events_bound AFTER INSERT ON app_events
BEGIN
  DELETE FROM app_events
  WHERE subject = NEW.subject
    AND id <= (SELECT id FROM app_events WHERE subject = NEW.subject
               ORDER BY id DESC LIMIT 1 OFFSET 200)
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = app_events.id);
END;

-- Whoever changes a deployment's status, by whatever statement, tells of it.
CREATE TRIGGER deployments_created AFTER INSERT ON deployments
BEGIN
  INSERT INTO app_events (app_id, type, subject, data, at)
  VALUES (NEW.app_id, 'deployment.status', NEW.id,
          json_object('id', NEW.id, 'status', NEW.status, 'subdomain', NEW.name,
                      'phase', NEW.phase, 'reason', NEW.reason, 'cause', NEW.cause,
                      'message', NEW.message, 'container_id', NEW.container_id,
                      'health_status', NEW.health_status,
                      'last_health_check', NEW.last_health_check, 'served_domain', NULL),
          NEW.inserted_at);
END;
CREATE TRIGGER deployments_changed
AFTER UPDATE OF status, phase, reason, cause, message, container_id, health_status ON deployments
WHEN OLD.status IS NOT NEW.status OR OLD.phase IS NOT NEW.phase OR OLD.reason IS NOT NEW.reason
  OR OLD.cause IS NOT NEW.cause OR OLD.message IS NOT NEW.message
  OR OLD.container_id IS NOT NEW.container_id OR OLD.health_status IS NOT NEW.health_status
BEGIN
  INSERT INTO app_events (app_id, type, subject, data, at)
  VALUES (NEW.app_id,
          CASE WHEN OLD.status IS NOT NEW.status OR OLD.reason IS NOT NEW.reason
                 OR OLD.cause IS NOT NEW.cause OR OLD.health_status IS NOT NEW.health_status
               THEN 'deployment.status' ELSE 'deployment.progress' END,
          NEW.id,
          json_object('id', NEW.id, 'status', NEW.status, 'subdomain', NEW.name,
                      'phase', NEW.phase, 'reason', NEW.reason, 'cause', NEW.cause,
                      'message', NEW.message, 'container_id', NEW.container_id,
                      'health_status', NEW.health_status,
                      'last_health_check', NEW.last_health_check,
                      'served_domain',
                      (SELECT c.domain FROM custom_domains c WHERE c.deployment_id = NEW.id
                         AND c.released_at IS NULL AND c.state = 'active')),
          NEW.updated_at);
END;

-- A deleted app tells nobody anything.
CREATE TRIGGER webhooks_of_deleted_apps AFTER UPDATE OF deleted_at ON apps
WHEN NEW.deleted_at IS NOT NULL
BEGIN
  DELETE FROM webhook_deliveries WHERE webhook_id IN (SELECT id FROM webhooks WHERE app_id = NEW.id);
  DELETE FROM webhooks WHERE app_id = NEW.id;
END;

-- Those that are there already have a first event too, so that every stream begins with one.
INSERT INTO app_events (app_id, type, subject, data, at)
SELECT d.app_id, 'deployment.status', d.id,
       json_object('id', d.id, 'status', d.status, 'subdomain', d.name, 'phase', d.phase,
                   'reason', d.reason, 'cause', d.cause, 'message', d.message,
                   'container_id', d.container_id, 'health_status', d.health_status,
                   'last_health_check', d.last_health_check,
                   'served_domain',
                   (SELECT c.domain FROM custom_domains c WHERE c.deployment_id = d.id
                      AND c.released_at IS NULL AND c.state = 'active')),
       d.updated_at
FROM deployments d;
