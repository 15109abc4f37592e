-- 0001_accounts.sql: who uses the service. Times are milliseconds since 1970 in UTC everywhere.

-- Facts about the whole database: the instance id, write probes.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE users (
  id                  TEXT PRIMARY KEY,
  email               TEXT NOT NULL,
  email_key           TEXT NOT NULL UNIQUE,     -- folded to lower case: one account per address
  username            TEXT NOT NULL,
  username_key        TEXT NOT NULL UNIQUE,     -- folded, so that Anna can't pose as anna
  password_hash       TEXT NOT NULL,            -- argon2id, PHC string
  tier                TEXT NOT NULL DEFAULT 'free',
  is_admin            INTEGER NOT NULL DEFAULT 0 CHECK (is_admin IN (0, 1)),
  email_verified_at   INTEGER,
  totp_enabled_at     INTEGER,
  referral_code       TEXT NOT NULL UNIQUE,
  referred_by         TEXT REFERENCES users (id),
  registration_number INTEGER NOT NULL UNIQUE,  -- 1, 2, 3, … without gaps: the bonus depends on it
  signup_multiplier   INTEGER NOT NULL CHECK (signup_multiplier >= 1),
  suspended_at        INTEGER,
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL
) STRICT;
CREATE INDEX users_by_referrer ON users (referred_by) WHERE referred_by IS NOT NULL;

-- Links that were mailed. Only the hash of a token is kept.
CREATE TABLE email_tokens (
  token_hash TEXT PRIMARY KEY,
  user_id    TEXT NOT NULL REFERENCES users (id),
  purpose    TEXT NOT NULL CHECK (purpose IN ('verify_email', 'reset_password')),
  expires_at INTEGER NOT NULL,
  used_at    INTEGER
) STRICT;
CREATE INDEX email_tokens_by_user ON email_tokens (user_id, purpose);
CREATE INDEX email_tokens_by_expiry ON email_tokens (expires_at);

-- A session JWT names its row here, so that it can be revoked before it expires.
CREATE TABLE sessions (
  id         TEXT PRIMARY KEY,
  user_id    TEXT NOT NULL REFERENCES users (id),
  address    TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Mail that waits to be sent. A body holds a token, so it is sealed with the data key.
CREATE TABLE outbox (
  id         TEXT PRIMARY KEY,
  to_address TEXT NOT NULL,
  subject    TEXT NOT NULL,
  sealed     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  sent_at    INTEGER
) STRICT;
CREATE INDEX outbox_waiting ON outbox (created_at) WHERE sent_at IS NULL;

-- What admins did.
CREATE TABLE audit_log (
  id      TEXT PRIMARY KEY,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  target  TEXT NOT NULL,
  details TEXT NOT NULL,  -- a JSON object
  at      INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_log_by_time ON audit_log (at);

-- The first answer to a request with an Idempotency-Key, for 24 hours. It commits with the effect.
CREATE TABLE idempotency_keys (
  principal    TEXT NOT NULL,  -- user:…, app:…:user:…, internal
  method       TEXT NOT NULL,
  path         TEXT NOT NULL,
  key          TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  status       INTEGER NOT NULL,
  body         TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (principal, method, path, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);
