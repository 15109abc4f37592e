-- 0022_trusts.sql: CI jobs get access tokens for the ID tokens of their CI service, without a secret (RFC 8693).
CREATE TABLE id_token_issuers (
  id          text COLLATE "C" PRIMARY KEY,
  issuer      text COLLATE "C" NOT NULL UNIQUE,
  name        text COLLATE "C" NOT NULL,
  kind        text COLLATE "C" NOT NULL,
  jwks_uri    text COLLATE "C",
  inserted_at bigint NOT NULL
);
CREATE TABLE app_trusts (
  id           text COLLATE "C" PRIMARY KEY,
  app_id       text COLLATE "C" NOT NULL REFERENCES apps (id),
  name         text COLLATE "C" NOT NULL,
  issuer       text COLLATE "C" NOT NULL,
  audience     text COLLATE "C" NOT NULL,
  claims       text COLLATE "C" NOT NULL,
  wildcards    bigint NOT NULL DEFAULT 0,
  deployments  text COLLATE "C",
  scopes       text COLLATE "C" NOT NULL,
  inserted_at  bigint NOT NULL,
  last_used_at bigint
);
CREATE INDEX app_trusts_of_app ON app_trusts (app_id, inserted_at, id);
CREATE INDEX app_trusts_of_issuer ON app_trusts (issuer);
CREATE TABLE used_id_tokens (
  token_hash text COLLATE "C" PRIMARY KEY,
  expires_at bigint NOT NULL
);
CREATE INDEX used_id_tokens_by_end ON used_id_tokens (expires_at);
ALTER TABLE token_families ADD COLUMN trust_id text COLLATE "C";
ALTER TABLE token_families ADD COLUMN deployments text COLLATE "C";
CREATE INDEX token_families_of_trust ON token_families (trust_id, expires_at) WHERE trust_id IS NOT NULL;
