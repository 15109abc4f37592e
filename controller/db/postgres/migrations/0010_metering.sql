-- 0010_metering.sql: what runs is measured, and charged by the second where a tier has a price by the hour; SQLite's
-- file says what the columns mean.
ALTER TABLE ledger_accounts ADD COLUMN held bigint NOT NULL DEFAULT 0 CHECK (held >= 0);
CREATE INDEX ledger_accounts_with_held ON ledger_accounts (id) WHERE held > 0;
ALTER TABLE deploy_tiers ADD COLUMN points_per_hour bigint CHECK (points_per_hour BETWEEN 1 AND 1000000);

CREATE TABLE tier_prices (
  tier_id         text COLLATE "C" NOT NULL REFERENCES deploy_tiers (id),
  from_day        bigint NOT NULL,
  points_per_hour bigint CHECK (points_per_hour BETWEEN 1 AND 1000000),
  PRIMARY KEY (tier_id, from_day)
);
ALTER TABLE deployment_billing ADD COLUMN stopped_for text COLLATE "C" CHECK (stopped_for IN ('points', 'budget'));
ALTER TABLE deployment_billing ADD COLUMN metered_from bigint;

CREATE TABLE meter_watch (
  one           bigint PRIMARY KEY CHECK (one = 1),
  watched_until bigint NOT NULL
);

CREATE TABLE meter_intervals (
  pod           text COLLATE "C" NOT NULL,
  restart       bigint NOT NULL,
  deployment_id text COLLATE "C" NOT NULL REFERENCES deployments (id),
  process       text COLLATE "C" NOT NULL,
  item          text COLLATE "C" NOT NULL CHECK (item IN ('base')),
  quantity      bigint NOT NULL CHECK (quantity BETWEEN 1 AND 1000),
  started_at    bigint NOT NULL,
  ended_at      bigint,
  ending        text COLLATE "C" CHECK (ending IN ('finished', 'vanished')),
  counted_to    bigint NOT NULL,
  PRIMARY KEY (pod, restart),
  CHECK ((ended_at IS NULL) = (ending IS NULL)),
  CHECK (ended_at >= started_at)
);
CREATE INDEX meter_intervals_open ON meter_intervals (deployment_id) WHERE ended_at IS NULL;
CREATE INDEX meter_intervals_of ON meter_intervals (deployment_id, started_at);
CREATE INDEX meter_intervals_ended ON meter_intervals (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE meter_days (
  deployment_id        text COLLATE "C" NOT NULL REFERENCES deployments (id),
  day                  bigint NOT NULL,
  process              text COLLATE "C" NOT NULL,
  item                 text COLLATE "C" NOT NULL CHECK (item IN ('base')),
  app_id               text COLLATE "C" NOT NULL REFERENCES apps (id),
  milliseconds         bigint NOT NULL CHECK (milliseconds >= 0),
  points               bigint NOT NULL DEFAULT 0 CHECK (points BETWEEN 0 AND 9007199254740991),
  unpaid_milliseconds  bigint NOT NULL DEFAULT 0 CHECK (unpaid_milliseconds >= 0),
  pending_milliseconds bigint NOT NULL DEFAULT 0 CHECK (pending_milliseconds >= 0),
  pending_units        bigint NOT NULL DEFAULT 0 CHECK (pending_units >= 0),
  PRIMARY KEY (deployment_id, day, process, item)
);
CREATE INDEX meter_days_pending ON meter_days (app_id, day) WHERE pending_milliseconds > 0;
CREATE INDEX meter_days_by_day ON meter_days (day);

CREATE TABLE meter_apps (
  app_id    text COLLATE "C" PRIMARY KEY REFERENCES apps (id),
  remainder bigint NOT NULL DEFAULT 0 CHECK (remainder BETWEEN 0 AND 3599999),
  due_at    bigint,
  warned_at bigint
);
CREATE INDEX meter_apps_due ON meter_apps (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE meter_settlements (
  app_id         text COLLATE "C" NOT NULL REFERENCES apps (id),
  day            bigint NOT NULL,
  transaction_id text COLLATE "C" NOT NULL,
  points         bigint NOT NULL CHECK (points BETWEEN 1 AND 9007199254740991),
  PRIMARY KEY (app_id, day, transaction_id)
);
CREATE INDEX meter_settlements_by_transaction ON meter_settlements (transaction_id);

CREATE TABLE budgets (
  app_id        text COLLATE "C" NOT NULL REFERENCES apps (id),
  deployment_id text COLLATE "C" NOT NULL,
  period        text COLLATE "C" NOT NULL CHECK (period IN ('day', '30d')),
  points        bigint NOT NULL CHECK (points BETWEEN 1 AND 9007199254740991),
  at_limit      text COLLATE "C" NOT NULL CHECK (at_limit IN ('stop_metered', 'stop_all')),
  told          bigint NOT NULL DEFAULT 0,
  reached_at    bigint,
  PRIMARY KEY (app_id, deployment_id, period)
);
