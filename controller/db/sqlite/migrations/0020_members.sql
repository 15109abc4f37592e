-- 0020_members.sql: members of an app and their roles, and invitations.

-- The account that an app belongs to (apps.owner_id) is an owner with or without a row.
CREATE TABLE app_members (
  app_id      TEXT NOT NULL REFERENCES apps (id),
  user_id     TEXT NOT NULL REFERENCES users (id),
  role        TEXT NOT NULL CHECK (role IN ('viewer', 'billing', 'developer', 'admin', 'owner')),
  deployments TEXT,  -- a JSON list of the ids of the only deployments; NULL: all
  inserted_at INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (app_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX app_members_of_user ON app_members (user_id);

CREATE TABLE app_invitations (
  id           TEXT PRIMARY KEY,
  app_id       TEXT NOT NULL REFERENCES apps (id),
  email        TEXT,  -- as it was typed; NULL: a user was named
  email_key    TEXT,  -- the canonical form, in which it is compared
  user_id      TEXT REFERENCES users (id),  -- the user who was named
  mailbox_hash TEXT NOT NULL,  -- SHA-256 of the mailbox, whose letters are counted
  mailed       INTEGER NOT NULL,
  role         TEXT NOT NULL CHECK (role IN ('viewer', 'billing', 'developer', 'admin', 'owner')),
  deployments  TEXT,
  invited_by   TEXT NOT NULL REFERENCES users (id),
  status       TEXT NOT NULL CHECK (status IN ('pending', 'accepted', 'declined', 'withdrawn')),
  inserted_at  INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  ended_at     INTEGER,  -- when it was accepted, declined or withdrawn
  keep_until   INTEGER NOT NULL,
  CHECK ((email IS NULL) = (email_key IS NULL)),
  CHECK ((email IS NULL) <> (user_id IS NULL)),
  CHECK ((status = 'pending') = (ended_at IS NULL))
) STRICT;
CREATE INDEX app_invitations_of_app ON app_invitations (app_id, inserted_at);
CREATE INDEX app_invitations_to_address ON app_invitations (email_key) WHERE email_key IS NOT NULL;
CREATE INDEX app_invitations_to_user ON app_invitations (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX app_invitations_to_mailbox ON app_invitations (mailbox_hash, inserted_at);
CREATE INDEX app_invitations_by_inviter ON app_invitations (invited_by, inserted_at);
CREATE INDEX app_invitations_by_end ON app_invitations (keep_until);

-- When the app last went to another account; NULL: never.
ALTER TABLE apps ADD COLUMN transferred_at INTEGER;

-- Members of an app have alerts of it, besides the account that it belongs to. They are removed with the role.
DROP TRIGGER app_events_to_alerts;
CREATE TRIGGER app_events_to_alerts AFTER INSERT ON app_events
BEGIN
  INSERT INTO alert_events (alert_id, app_id, uuid, type, data, at, due_at)
  SELECT a.id, NEW.app_id, NEW.uuid, told.type, NEW.data, NEW.at, max(NEW.at + 2000, a.not_before)
  FROM apps p
  JOIN alerts a ON a.app_id = p.id OR (a.owner_id = p.owner_id AND a.app_id IS NULL)
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
