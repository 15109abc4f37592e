-- 0004_builds.sql: images that berthd builds from source on its own machine. One berthd alone has a machine of its own, so
-- the tables are empty on most PostgreSQLs; SQLite's file says what the columns mean.
ALTER TABLE deploy_tiers ADD COLUMN build_points_per_minute bigint NOT NULL DEFAULT 0
  CHECK (build_points_per_minute BETWEEN 0 AND 1000000);

CREATE TABLE builds (
  id               text COLLATE "C" PRIMARY KEY,
  app_id           text COLLATE "C" NOT NULL REFERENCES apps (id),
  owner_id         text COLLATE "C" NOT NULL REFERENCES users (id),
  name             text COLLATE "C" NOT NULL,
  tier_id          text COLLATE "C" NOT NULL REFERENCES deploy_tiers (id),
  initiated_by     text COLLATE "C" NOT NULL REFERENCES users (id),
  status           text COLLATE "C" NOT NULL
    CHECK (status IN ('queued', 'building', 'succeeded', 'failed', 'cancelled')),
  reason           text COLLATE "C",
  message          text COLLATE "C",
  source_bytes     bigint NOT NULL CHECK (source_bytes >= 0),
  log_bytes        bigint NOT NULL DEFAULT 0 CHECK (log_bytes >= 0),
  image            text COLLATE "C",
  image_bytes      bigint NOT NULL DEFAULT 0 CHECK (image_bytes >= 0),
  image_removed_at bigint,
  price            bigint NOT NULL CHECK (price >= 0),
  cancel_asked_at  bigint,
  inserted_at      bigint NOT NULL,
  started_at       bigint,
  ended_at         bigint,
  CHECK ((status = 'succeeded') = (image IS NOT NULL)),
  CHECK (status <> 'succeeded' OR reason IS NULL),
  CHECK ((status IN ('queued', 'building')) = (ended_at IS NULL))
);
CREATE INDEX builds_waiting ON builds (id) WHERE status = 'queued';
CREATE INDEX builds_waiting_of_app ON builds (app_id, id) WHERE status = 'queued';
CREATE INDEX builds_running ON builds (app_id, id) WHERE status = 'building';
CREATE INDEX builds_of_app ON builds (app_id, name, id);
CREATE INDEX builds_by_app ON builds (app_id, id);
CREATE INDEX builds_of_owner ON builds (owner_id, status);
CREATE UNIQUE INDEX builds_by_image ON builds (image) WHERE image IS NOT NULL;
CREATE INDEX builds_kept ON builds (id) WHERE image IS NOT NULL AND image_removed_at IS NULL;
CREATE INDEX builds_ended ON builds (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE build_charges (
  build_id       text COLLATE "C" PRIMARY KEY,
  app_id         text COLLATE "C" NOT NULL REFERENCES apps (id),
  minutes        bigint NOT NULL CHECK (minutes >= 1),
  amount         bigint NOT NULL CHECK (amount >= 1),
  transaction_id text COLLATE "C" NOT NULL,
  at             bigint NOT NULL
);
CREATE INDEX build_charges_by_transaction ON build_charges (transaction_id);
