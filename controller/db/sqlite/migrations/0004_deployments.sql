-- 0004_deployments.sql: what operators want to run, and what the cluster made of it.

CREATE TABLE deploy_tiers (
  id                     TEXT PRIMARY KEY,
  name                   TEXT NOT NULL,
  slug                   TEXT NOT NULL UNIQUE,
  description            TEXT NOT NULL,
  payment_method         TEXT NOT NULL CHECK (payment_method IN ('service_points', 'bitcoin')),
  monthly_cost_points    INTEGER CHECK (monthly_cost_points BETWEEN 0 AND 9007199254740991),
  monthly_cost_sats      INTEGER CHECK (monthly_cost_sats >= 0),
  memory_limit_mb        INTEGER NOT NULL CHECK (memory_limit_mb > 0),
  cpu_limit_millicores   INTEGER NOT NULL CHECK (cpu_limit_millicores > 0),
  max_deployments        INTEGER CHECK (max_deployments >= 0),  -- NULL: no limit
  custom_domain_allowed  INTEGER NOT NULL CHECK (custom_domain_allowed IN (0, 1)),
  auto_approve           INTEGER NOT NULL CHECK (auto_approve IN (0, 1)),
  monthly_stipend_points INTEGER NOT NULL DEFAULT 0 CHECK (monthly_stipend_points >= 0),
  ad_reach_multiplier    TEXT NOT NULL DEFAULT '1.0',
  position               INTEGER NOT NULL,
  -- Each payment method has its price and not the other's.
  CHECK ((payment_method = 'bitcoin') = (monthly_cost_sats IS NOT NULL)),
  CHECK ((payment_method = 'service_points') = (monthly_cost_points IS NOT NULL))
) STRICT;

CREATE TABLE deployments (
  id                   TEXT PRIMARY KEY,
  app_id               TEXT NOT NULL REFERENCES apps (id),
  owner_id             TEXT NOT NULL REFERENCES users (id),  -- of the app: caps count over all its apps
  tier_id              TEXT NOT NULL REFERENCES deploy_tiers (id),
  name                 TEXT NOT NULL,
  image                TEXT NOT NULL,
  port                 INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
  custom_domain        TEXT,
  health_path          TEXT,
  env_keys             TEXT NOT NULL,  -- a JSON array; the values are in env_sealed alone
  env_sealed           TEXT NOT NULL,
  credentials_sealed   TEXT,
  memory_limit_mb      INTEGER NOT NULL,
  cpu_limit_millicores INTEGER NOT NULL,
  -- The wish.
  generation           INTEGER NOT NULL DEFAULT 1,
  rollout              INTEGER NOT NULL DEFAULT 0,
  status               TEXT NOT NULL
    CHECK (status IN ('pending', 'deploying', 'running', 'stopped', 'errored', 'destroyed')),
  -- What was seen.
  phase                TEXT NOT NULL DEFAULT '',
  reason               TEXT,
  cause                TEXT,
  message              TEXT,
  container_id         TEXT,
  image_digest         TEXT,
  host_server          TEXT,
  health_status        TEXT CHECK (health_status IN ('healthy', 'unhealthy', 'unknown')),
  billing_status       TEXT CHECK (billing_status IN ('current', 'warning', 'suspended', 'exempt')),
  last_health_check    INTEGER,
  deployed_at          INTEGER,
  stopped_at           INTEGER,
  suspended_at         INTEGER,
  destroyed_at         INTEGER,
  removed_at           INTEGER,
  request_id           TEXT NOT NULL,
  inserted_at          INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL,
  -- A tombstone: only a destroyed deployment can be off the cluster.
  CHECK (removed_at IS NULL OR status = 'destroyed')
) STRICT;
-- A name is free again as soon as its deployment is destroyed.
CREATE UNIQUE INDEX deployments_by_name ON deployments (name) WHERE status <> 'destroyed';
CREATE UNIQUE INDEX deployments_by_domain ON deployments (custom_domain)
  WHERE status <> 'destroyed' AND custom_domain IS NOT NULL;
CREATE INDEX deployments_by_app ON deployments (app_id, inserted_at);
CREATE INDEX deployments_by_owner ON deployments (owner_id) WHERE status <> 'destroyed';
CREATE INDEX deployments_on_cluster ON deployments (id) WHERE removed_at IS NULL;
CREATE INDEX deployments_leaving ON deployments (name) WHERE status = 'destroyed' AND removed_at IS NULL;

CREATE TABLE deploy_logs (
  id            TEXT PRIMARY KEY,  -- a UUIDv7; ties within a millisecond are broken by rowid
  deployment_id TEXT NOT NULL REFERENCES deployments (id),
  action        TEXT NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('started', 'succeeded', 'failed', 'info')),
  initiated_by  TEXT,
  details       TEXT,  -- a JSON object
  inserted_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX deploy_logs_by_deployment ON deploy_logs (deployment_id, inserted_at);

-- What a period of a deployment cost: one row for each, in the transaction of its debit.
CREATE TABLE deployment_charges (
  deployment_id  TEXT NOT NULL REFERENCES deployments (id),
  period_start   INTEGER NOT NULL,
  transaction_id TEXT NOT NULL REFERENCES ledger_transactions (id),
  amount         INTEGER NOT NULL,
  PRIMARY KEY (deployment_id, period_start)
) STRICT, WITHOUT ROWID;
