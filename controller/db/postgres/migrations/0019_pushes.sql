-- 0019_pushes.sql: deployments that follow the tag of their image, and previews of deployments.
ALTER TABLE deployments ADD COLUMN deploy_hours text COLLATE "C";
ALTER TABLE deployment_revisions ADD COLUMN deploy_hours text COLLATE "C";
CREATE TABLE deployment_pushes (
  deployment_id    text COLLATE "C" PRIMARY KEY REFERENCES deployments (id),
  image            text COLLATE "C" NOT NULL,
  digest           text COLLATE "C",
  rejected         text COLLATE "C" NOT NULL DEFAULT '[]',
  due_at           bigint,
  asked_at         bigint,
  hurried          bigint NOT NULL DEFAULT 0,
  failures         bigint NOT NULL DEFAULT 0,
  error            text COLLATE "C",
  trial_generation bigint,
  trial_digest     text COLLATE "C",
  trial_until      bigint,
  hook_hash        text COLLATE "C" UNIQUE,
  CHECK ((trial_generation IS NULL) = (trial_until IS NULL))
);
CREATE INDEX deployment_pushes_due ON deployment_pushes (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deployment_pushes_on_trial ON deployment_pushes (trial_until) WHERE trial_until IS NOT NULL;
CREATE TABLE deployment_previews (
  deployment_id text COLLATE "C" PRIMARY KEY REFERENCES deployments (id),
  of_id         text COLLATE "C" NOT NULL REFERENCES deployments (id),
  expires_at    bigint NOT NULL
);
CREATE INDEX deployment_previews_of ON deployment_previews (of_id);
CREATE INDEX deployment_previews_by_end ON deployment_previews (expires_at);
