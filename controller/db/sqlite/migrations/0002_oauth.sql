-- 0002_oauth.sql: apps of operators, and what users allowed them (RFC 6749, RFC 7636, RFC 9700).
-- Scope lists are names with one space between them, in the order of the specification.

CREATE TABLE apps (
  id                    TEXT PRIMARY KEY,
  owner_id              TEXT NOT NULL REFERENCES users (id),
  app_name              TEXT NOT NULL,
  app_description       TEXT NOT NULL DEFAULT '',
  logo_url              TEXT,
  website_url           TEXT,
  client_id             TEXT NOT NULL UNIQUE,
  client_secret_hash    TEXT NOT NULL,
  redirect_uris         TEXT NOT NULL,             -- a JSON array
  allowed_scopes        TEXT NOT NULL,             -- what it registered that it may ask for
  approved_scopes       TEXT NOT NULL,             -- what it may get now, beside the automatic ones
  listed                INTEGER NOT NULL DEFAULT 0 CHECK (listed IN (0, 1)),
  promoted_tier         TEXT,                      -- the deploy tier that an admin promoted it to
  suspended_at          INTEGER,
  inserted_at           INTEGER NOT NULL,
  updated_at            INTEGER NOT NULL
) STRICT;
CREATE INDEX apps_by_owner ON apps (owner_id, inserted_at);

CREATE TABLE scope_requests (
  id               TEXT PRIMARY KEY,
  app_id           TEXT NOT NULL REFERENCES apps (id),
  requested_scopes TEXT NOT NULL,
  status           TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'withdrawn')),
  reason           TEXT,
  decided_by       TEXT,
  decided_at       INTEGER,
  inserted_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX scope_requests_by_app ON scope_requests (app_id, inserted_at);
CREATE INDEX scope_requests_by_status ON scope_requests (status, inserted_at);

-- One row for each user and app: the consent. Revoking it ends every family below it.
CREATE TABLE grants (
  id           TEXT PRIMARY KEY,
  app_id       TEXT NOT NULL REFERENCES apps (id),
  user_id      TEXT NOT NULL REFERENCES users (id),
  scopes       TEXT NOT NULL,
  connected_at INTEGER NOT NULL,
  revoked_at   INTEGER,
  UNIQUE (app_id, user_id)
) STRICT;
CREATE INDEX grants_by_user ON grants (user_id);

-- Everything that came from one authorization: its refresh tokens follow one another.
CREATE TABLE token_families (
  id         TEXT PRIMARY KEY,
  grant_id   TEXT NOT NULL REFERENCES grants (id),
  scopes     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,  -- the absolute life, however often it is refreshed
  revoked_at INTEGER
) STRICT;
CREATE INDEX token_families_by_grant ON token_families (grant_id);
CREATE INDEX token_families_by_expiry ON token_families (expires_at);

CREATE TABLE authorization_codes (
  code_hash      TEXT PRIMARY KEY,
  grant_id       TEXT NOT NULL REFERENCES grants (id),
  redirect_uri   TEXT NOT NULL,
  scopes         TEXT NOT NULL,
  code_challenge TEXT NOT NULL,  -- S256 (RFC 7636, section 4.2)
  expires_at     INTEGER NOT NULL,
  used_at        INTEGER,
  family_id      TEXT REFERENCES token_families (id)  -- what it gave: revoked if it comes twice
) STRICT;
CREATE INDEX authorization_codes_by_expiry ON authorization_codes (expires_at);

CREATE TABLE access_tokens (
  token_hash TEXT PRIMARY KEY,
  family_id  TEXT NOT NULL REFERENCES token_families (id),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX access_tokens_by_family ON access_tokens (family_id);
CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);

CREATE TABLE refresh_tokens (
  token_hash  TEXT PRIMARY KEY,
  family_id   TEXT NOT NULL REFERENCES token_families (id),
  expires_at  INTEGER NOT NULL,
  consumed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX refresh_tokens_by_family ON refresh_tokens (family_id);
CREATE INDEX refresh_tokens_by_expiry ON refresh_tokens (expires_at);

CREATE TABLE session_tokens (
  token_hash TEXT PRIMARY KEY,
  family_id  TEXT NOT NULL REFERENCES token_families (id),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_tokens_by_family ON session_tokens (family_id);
CREATE INDEX session_tokens_by_expiry ON session_tokens (expires_at);
