-- 0007_oauth_life.sql: how apps, consents and tokens change and end.

-- The secret before the last rotation, for as long as `secret-grace` lets it work.
ALTER TABLE apps ADD COLUMN previous_secret_hash TEXT;
ALTER TABLE apps ADD COLUMN previous_secret_expires_at INTEGER;
-- Deployments and the ledger go on naming an app that was deleted, so its row stays.
ALTER TABLE apps ADD COLUMN deleted_at INTEGER;
CREATE INDEX apps_listed ON apps (inserted_at, id) WHERE listed = 1 AND deleted_at IS NULL;
CREATE INDEX apps_deleted ON apps (id) WHERE deleted_at IS NOT NULL;

-- What the user allows the app to spend in a UTC day; NULL: no limit. Empty `scopes`: nobody
-- consented to anything, the row is there for the tokens that the app got by itself
-- (client_credentials).
ALTER TABLE grants ADD COLUMN daily_spend_limit INTEGER
  CHECK (daily_spend_limit BETWEEN 0 AND 9007199254740991);
ALTER TABLE grants ADD COLUMN spent_day INTEGER;  -- days since 1970, in UTC
ALTER TABLE grants ADD COLUMN spent_on_day INTEGER NOT NULL DEFAULT 0
  CHECK (spent_on_day BETWEEN 0 AND 9007199254740991);
ALTER TABLE grants ADD COLUMN last_used_at INTEGER;
CREATE INDEX grants_revoked ON grants (revoked_at) WHERE revoked_at IS NOT NULL;

CREATE INDEX token_families_revoked ON token_families (revoked_at) WHERE revoked_at IS NOT NULL;

-- A used code stays as long as the family that it gave, so that its second use revokes it; the
-- others end by their time.
DROP INDEX authorization_codes_by_expiry;
CREATE INDEX authorization_codes_unused ON authorization_codes (expires_at) WHERE family_id IS NULL;
CREATE INDEX authorization_codes_by_family ON authorization_codes (family_id)
  WHERE family_id IS NOT NULL;
CREATE INDEX authorization_codes_by_grant ON authorization_codes (grant_id);

ALTER TABLE access_tokens ADD COLUMN scopes TEXT;  -- where it was asked for less than its family has
ALTER TABLE access_tokens ADD COLUMN revoked_at INTEGER;

-- A user's time in an app. Its token (st_live_) is replaced when it is refreshed.
DROP TABLE session_tokens;
CREATE TABLE play_sessions (
  id                TEXT PRIMARY KEY,
  family_id         TEXT NOT NULL REFERENCES token_families (id),
  token_hash        TEXT NOT NULL UNIQUE,
  started_at        INTEGER NOT NULL,
  expires_at        INTEGER NOT NULL,
  last_heartbeat_at INTEGER,
  ended_at          INTEGER,
  points_earned     INTEGER NOT NULL DEFAULT 0
    CHECK (points_earned BETWEEN 0 AND 9007199254740991)
) STRICT, WITHOUT ROWID;
CREATE INDEX play_sessions_by_family ON play_sessions (family_id);
CREATE INDEX play_sessions_by_expiry ON play_sessions (expires_at);
