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
