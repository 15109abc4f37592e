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
