-- 0020_members.sql: members of an app and their roles, and invitations.
CREATE TABLE app_members (
  app_id      text COLLATE "C" NOT NULL REFERENCES apps (id),
  user_id     text COLLATE "C" NOT NULL REFERENCES users (id),
  role        text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'billing', 'developer', 'admin', 'owner')),
  deployments text COLLATE "C",
  inserted_at bigint NOT NULL,
  updated_at  bigint NOT NULL,
  PRIMARY KEY (app_id, user_id)
);
CREATE INDEX app_members_of_user ON app_members (user_id);
CREATE TABLE app_invitations (
  id           text COLLATE "C" PRIMARY KEY,
  app_id       text COLLATE "C" NOT NULL REFERENCES apps (id),
  email        text COLLATE "C",
  email_key    text COLLATE "C",
  user_id      text COLLATE "C" REFERENCES users (id),
  mailbox_hash text COLLATE "C" NOT NULL,
  mailed       bigint NOT NULL,
  role         text COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'billing', 'developer', 'admin', 'owner')),
  deployments  text COLLATE "C",
  invited_by   text COLLATE "C" NOT NULL REFERENCES users (id),
  status       text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'accepted', 'declined', 'withdrawn')),
  inserted_at  bigint NOT NULL,
  expires_at   bigint NOT NULL,
  ended_at     bigint,
  keep_until   bigint NOT NULL,
  CHECK ((email IS NULL) = (email_key IS NULL)),
  CHECK ((email IS NULL) <> (user_id IS NULL)),
  CHECK ((status = 'pending') = (ended_at IS NULL))
);
CREATE INDEX app_invitations_of_app ON app_invitations (app_id, inserted_at);
CREATE INDEX app_invitations_to_address ON app_invitations (email_key) WHERE email_key IS NOT NULL;
CREATE INDEX app_invitations_to_user ON app_invitations (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX app_invitations_to_mailbox ON app_invitations (mailbox_hash, inserted_at);
CREATE INDEX app_invitations_by_inviter ON app_invitations (invited_by, inserted_at);
CREATE INDEX app_invitations_by_end ON app_invitations (keep_until);
ALTER TABLE apps ADD COLUMN transferred_at bigint;
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
  JOIN alerts a ON a.app_id = p.id OR (a.owner_id = p.owner_id AND a.app_id IS NULL)
  WHERE p.id = NEW.app_id
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
