-- 0004_builds.sql: images that berthd builds from source on its own machine: who asked for what, how it went, what it
-- cost, and whether the image is still there.

-- What a minute of building costs the apps whose deployments have the tier.
ALTER TABLE deploy_tiers ADD COLUMN build_points_per_minute INTEGER NOT NULL DEFAULT 0
  CHECK (build_points_per_minute BETWEEN 0 AND 1000000);

-- A build belongs to an app and a name of a deployment, which needn't exist yet: the first build comes before it.
CREATE TABLE builds (
  id               TEXT PRIMARY KEY,  -- a UUIDv7
  app_id           TEXT NOT NULL REFERENCES apps (id),
  owner_id         TEXT NOT NULL REFERENCES users (id),  -- of the app: quotas count over all its apps
  name             TEXT NOT NULL,
  tier_id          TEXT NOT NULL REFERENCES deploy_tiers (id),
  initiated_by     TEXT NOT NULL REFERENCES users (id),
  status           TEXT NOT NULL CHECK (status IN ('queued', 'building', 'succeeded', 'failed', 'cancelled')),
  reason           TEXT,  -- why it failed, in one word
  message          TEXT,  -- and in a sentence
  source_bytes     INTEGER NOT NULL CHECK (source_bytes >= 0),  -- of the archive, as it was sent
  log_bytes        INTEGER NOT NULL DEFAULT 0 CHECK (log_bytes >= 0),
  image            TEXT,  -- localhost/APP/NAME@sha256:…
  image_bytes      INTEGER NOT NULL DEFAULT 0 CHECK (image_bytes >= 0),
  image_removed_at INTEGER,
  price            INTEGER NOT NULL CHECK (price >= 0),  -- points for a minute, when it was asked for
  cancel_asked_at  INTEGER,  -- somebody wants it to end while it is building
  inserted_at      INTEGER NOT NULL,
  started_at       INTEGER,
  ended_at         INTEGER,
  -- An image, and the absence of a reason, is what success means.
  CHECK ((status = 'succeeded') = (image IS NOT NULL)),
  CHECK (status <> 'succeeded' OR reason IS NULL),
  CHECK ((status IN ('queued', 'building')) = (ended_at IS NULL))
) STRICT;
CREATE INDEX builds_waiting ON builds (id) WHERE status = 'queued';
CREATE INDEX builds_waiting_of_app ON builds (app_id, id) WHERE status = 'queued';
CREATE INDEX builds_running ON builds (app_id, id) WHERE status = 'building';
CREATE INDEX builds_of_app ON builds (app_id, name, id);
CREATE INDEX builds_by_app ON builds (app_id, id);
CREATE INDEX builds_of_owner ON builds (owner_id, status);
CREATE UNIQUE INDEX builds_by_image ON builds (image) WHERE image IS NOT NULL;
CREATE INDEX builds_kept ON builds (id) WHERE image IS NOT NULL AND image_removed_at IS NULL;
CREATE INDEX builds_ended ON builds (ended_at) WHERE ended_at IS NOT NULL;

-- What a build cost: the row is in the transaction of its debit and of the build's end, and its key rules out that a build
-- is charged twice. It stays when the build's row goes, because the ledger's transactions are compared with it.
CREATE TABLE build_charges (
  build_id       TEXT PRIMARY KEY,
  app_id         TEXT NOT NULL REFERENCES apps (id),
  minutes        INTEGER NOT NULL CHECK (minutes >= 1),
  amount         INTEGER NOT NULL CHECK (amount >= 1),
  transaction_id TEXT NOT NULL,
  at             INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX build_charges_by_transaction ON build_charges (transaction_id);
