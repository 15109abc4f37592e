-- 0025_passkeys.sql: passkeys, with which users log in and prove their second factor (WebAuthn).
CREATE TABLE passkeys (
  id            text COLLATE "C" PRIMARY KEY,
  user_id       text COLLATE "C" NOT NULL REFERENCES users (id),
  credential_id text COLLATE "C" NOT NULL UNIQUE,
  algorithm     bigint NOT NULL CHECK (algorithm IN (-7, -8, -257)),
  public_key    text COLLATE "C" NOT NULL,
  sign_count    bigint NOT NULL,
  synced        bigint NOT NULL CHECK (synced IN (0, 1)),
  name          text COLLATE "C" NOT NULL,
  created_at    bigint NOT NULL,
  last_used_at  bigint
);
CREATE INDEX passkeys_by_user ON passkeys (user_id, created_at);
CREATE TABLE used_passkey_challenges (
  challenge_hash text COLLATE "C" PRIMARY KEY,
  expires_at     bigint NOT NULL
);
CREATE INDEX used_passkey_challenges_by_time ON used_passkey_challenges (expires_at);
