-- 0019_pushes.sql: deployments that follow the tag of their image, and previews of deployments.

-- At which hours of the day in UTC a new image may be rolled out: '22-6' is from 22:00 to 06:00. NULL: at any.
ALTER TABLE deployments ADD COLUMN deploy_hours TEXT;
ALTER TABLE deployment_revisions ADD COLUMN deploy_hours TEXT;

CREATE TABLE deployment_pushes (
  deployment_id    TEXT PRIMARY KEY REFERENCES deployments (id),
  image            TEXT NOT NULL,   -- whose tag is followed, without a digest
  digest           TEXT,            -- of the tag, when the registry was asked last; NULL: never yet
  rejected         TEXT NOT NULL DEFAULT '[]',  -- digests that were rolled back from, the newest last
  due_at           INTEGER,         -- when the registry is asked; NULL: not at all
  asked_at         INTEGER,
  hurried          INTEGER NOT NULL DEFAULT 0,  -- how often the registry is still asked soon, after a hint
  failures         INTEGER NOT NULL DEFAULT 0,  -- since the last answer
  error            TEXT,            -- why there was no answer
  trial_generation INTEGER,         -- of the rollout of a new image, while it may be rolled back
  trial_digest     TEXT,
  trial_until      INTEGER,
  hook_hash        TEXT UNIQUE,     -- of the secret in the address that takes hints
  CHECK ((trial_generation IS NULL) = (trial_until IS NULL))
) STRICT;
CREATE INDEX deployment_pushes_due ON deployment_pushes (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deployment_pushes_on_trial ON deployment_pushes (trial_until) WHERE trial_until IS NOT NULL;

CREATE TABLE deployment_previews (
  deployment_id TEXT PRIMARY KEY REFERENCES deployments (id),
  of_id         TEXT NOT NULL REFERENCES deployments (id),
  expires_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX deployment_previews_of ON deployment_previews (of_id);
CREATE INDEX deployment_previews_by_end ON deployment_previews (expires_at);
