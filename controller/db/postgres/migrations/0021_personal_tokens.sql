-- 0021_personal_tokens.sql: personal access tokens, and the parts of the scope deploy:manage.
CREATE TABLE personal_tokens (
  id             text COLLATE "C" PRIMARY KEY,
  token_hash     text COLLATE "C" NOT NULL UNIQUE,
  user_id        text COLLATE "C" NOT NULL REFERENCES users (id),
  name           text COLLATE "C" NOT NULL,
  scopes         text COLLATE "C" NOT NULL,
  app_id         text COLLATE "C" REFERENCES apps (id),
  deployment_id  text COLLATE "C" REFERENCES deployments (id),
  hint           text COLLATE "C" NOT NULL,
  inserted_at    bigint NOT NULL,
  expires_at     bigint NOT NULL,
  revoked_at     bigint,
  last_used_at   bigint,
  last_used_from text COLLATE "C",
  warn_at        bigint,
  CHECK (deployment_id IS NULL OR app_id IS NOT NULL)
);
CREATE INDEX personal_tokens_of_user ON personal_tokens (user_id, inserted_at, id);
CREATE INDEX personal_tokens_by_end ON personal_tokens (expires_at);
CREATE INDEX personal_tokens_revoked ON personal_tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX personal_tokens_to_warn ON personal_tokens (warn_at) WHERE warn_at IS NOT NULL;
UPDATE apps
SET allowed_scopes = allowed_scopes || ' deploy:read deploy:write logs:read',
    approved_scopes = approved_scopes || ' deploy:read deploy:write logs:read'
WHERE built_in = 1;
