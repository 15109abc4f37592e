-- 0022_trusts.sql: CI jobs get access tokens for the ID tokens of their CI service, without a secret (RFC 8693).

-- Whose ID tokens apps may trust. Admins list them.
CREATE TABLE id_token_issuers (
  id          TEXT PRIMARY KEY,
  issuer      TEXT NOT NULL UNIQUE,   -- the claim `iss`
  name        TEXT NOT NULL,
  kind        TEXT NOT NULL,
  jwks_uri    TEXT,                   -- NULL: what its discovery document says
  inserted_at INTEGER NOT NULL
) STRICT;

CREATE TABLE app_trusts (
  id           TEXT PRIMARY KEY,
  app_id       TEXT NOT NULL REFERENCES apps (id),
  name         TEXT NOT NULL,
  issuer       TEXT NOT NULL,         -- may not be listed any more: the trust then gives nothing
  audience     TEXT NOT NULL,
  claims       TEXT NOT NULL,         -- JSON: {claim: [texts]}
  wildcards    INTEGER NOT NULL DEFAULT 0,  -- whether a * at the end of a text stands for anything
  deployments  TEXT,                  -- JSON: [ids]; NULL: all of the app
  scopes       TEXT NOT NULL,
  inserted_at  INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT;
CREATE INDEX app_trusts_of_app ON app_trusts (app_id, inserted_at, id);
CREATE INDEX app_trusts_of_issuer ON app_trusts (issuer);

-- ID tokens that were exchanged, so that each is exchanged once.
CREATE TABLE used_id_tokens (
  token_hash TEXT PRIMARY KEY,        -- of issuer and jti
  expires_at INTEGER NOT NULL         -- from then on the ID token is refused for its age
) STRICT;
CREATE INDEX used_id_tokens_by_end ON used_id_tokens (expires_at);

-- The trust whose tokens a family has, and the only deployments that they may use (JSON; NULL: all of the app).
ALTER TABLE token_families ADD COLUMN trust_id TEXT;
ALTER TABLE token_families ADD COLUMN deployments TEXT;
CREATE INDEX token_families_of_trust ON token_families (trust_id, expires_at) WHERE trust_id IS NOT NULL;
