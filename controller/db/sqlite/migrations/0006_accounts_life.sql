-- 0006_accounts_life.sql: second factors, known places, the end of an account.

-- The ledger, audit rows and referrals go on naming a user who is gone, so the row stays; what says
-- who it was is overwritten.
ALTER TABLE users ADD COLUMN deleted_at INTEGER;
-- What the treasury paid when the address was verified; paid once, summed up by day for the cap.
ALTER TABLE users ADD COLUMN signup_bonus INTEGER CHECK (signup_bonus BETWEEN 0 AND 9007199254740991);
ALTER TABLE users ADD COLUMN signup_bonus_at INTEGER;
CREATE INDEX users_by_bonus_time ON users (signup_bonus_at) WHERE signup_bonus_at IS NOT NULL;

-- Mails of a kind are counted by hour.
ALTER TABLE email_tokens ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;

-- RFC 6238. It counts once users.totp_enabled_at is set.
CREATE TABLE totp_secrets (
  user_id       TEXT PRIMARY KEY REFERENCES users (id),
  sealed_secret TEXT NOT NULL,               -- with the data key
  last_step     INTEGER NOT NULL DEFAULT 0,  -- of the newest code that was accepted: each works once
  created_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Single use: a code that was used is deleted.
CREATE TABLE recovery_codes (
  user_id   TEXT NOT NULL REFERENCES users (id),
  code_hash TEXT NOT NULL,  -- HMAC with the data key: the codes are too short for a bare hash
  PRIMARY KEY (user_id, code_hash)
) STRICT, WITHOUT ROWID;

-- Networks that the user has logged in from: those may go on trying while strangers are held off.
CREATE TABLE login_networks (
  user_id TEXT NOT NULL REFERENCES users (id),
  network TEXT NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, network)
) STRICT, WITHOUT ROWID;
