-- 0021_personal_tokens.sql: personal access tokens, and the parts of the scope deploy:manage.

-- Tokens (pat_live_) that users make for programs of their own. Only hashes of them are stored.
CREATE TABLE personal_tokens (
  id             TEXT PRIMARY KEY,
  token_hash     TEXT NOT NULL UNIQUE,
  user_id        TEXT NOT NULL REFERENCES users (id),
  name           TEXT NOT NULL,
  scopes         TEXT NOT NULL,     -- as they were asked for; what is left of them is decided at each use
  app_id         TEXT REFERENCES apps (id),         -- the only app that it is for; NULL: all of the user's
  deployment_id  TEXT REFERENCES deployments (id),  -- the only deployment; NULL: all of the app's
  hint           TEXT NOT NULL,     -- the token's last characters, by which its owner recognises it
  inserted_at    INTEGER NOT NULL,
  expires_at     INTEGER NOT NULL,
  revoked_at     INTEGER,
  last_used_at   INTEGER,
  last_used_from TEXT,              -- the address
  warn_at        INTEGER,           -- when the user is told that it will end; NULL: not, or they were told
  CHECK (deployment_id IS NULL OR app_id IS NOT NULL)
) STRICT;
CREATE INDEX personal_tokens_of_user ON personal_tokens (user_id, inserted_at, id);
CREATE INDEX personal_tokens_by_end ON personal_tokens (expires_at);
CREATE INDEX personal_tokens_revoked ON personal_tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX personal_tokens_to_warn ON personal_tokens (warn_at) WHERE warn_at IS NOT NULL;

-- Berth's own client may ask for the parts of deploy:manage, as it may for the whole.
UPDATE apps
SET allowed_scopes = allowed_scopes || ' deploy:read deploy:write logs:read',
    approved_scopes = approved_scopes || ' deploy:read deploy:write logs:read'
WHERE built_in = 1;
