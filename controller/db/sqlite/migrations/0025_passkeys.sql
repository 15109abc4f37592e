-- 0025_passkeys.sql: passkeys, with which users log in and prove their second factor (WebAuthn).

CREATE TABLE passkeys (
  id            TEXT PRIMARY KEY,
  user_id       TEXT NOT NULL REFERENCES users (id),
  credential_id TEXT NOT NULL UNIQUE,  -- what the authenticator calls it, in base64url
  algorithm     INTEGER NOT NULL CHECK (algorithm IN (-7, -8, -257)),  -- its number in COSE
  public_key    TEXT NOT NULL,  -- SubjectPublicKeyInfo in DER, in base64
  sign_count    INTEGER NOT NULL,  -- of the last use; goes up, or is always 0
  synced        INTEGER NOT NULL CHECK (synced IN (0, 1)),  -- whether copies of it are kept elsewhere
  name          TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  last_used_at  INTEGER
) STRICT;
CREATE INDEX passkeys_by_user ON passkeys (user_id, created_at);

-- Challenges that were answered rightly, until they expire: each works once. Those that nobody has answered have no row.
CREATE TABLE used_passkey_challenges (
  challenge_hash TEXT PRIMARY KEY,
  expires_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX used_passkey_challenges_by_time ON used_passkey_challenges (expires_at);
