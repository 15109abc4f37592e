-- 0043_device_codes.sql: requests of devices without a browser (RFC 8628). They live for ten
-- minutes.
CREATE TABLE device_codes (
  device_code_hash TEXT PRIMARY KEY,
  user_code_hash   TEXT NOT NULL UNIQUE,  -- HMAC with the data key: the codes are too short for a bare hash
  app_id           TEXT NOT NULL REFERENCES apps (id),
  scopes           TEXT NOT NULL,
  address          TEXT NOT NULL,         -- where it was asked from, for the person who decides
  user_agent       TEXT NOT NULL,
  created_at       INTEGER NOT NULL,
  expires_at       INTEGER NOT NULL,
  poll_interval    INTEGER NOT NULL,      -- milliseconds
  polled_at        INTEGER,
  grant_id         TEXT,                  -- the consent, once somebody has allowed it
  denied_at        INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX device_codes_by_expiry ON device_codes (expires_at);
