-- 0010_metering.sql: what runs is measured, and charged by the second where a tier has a price by the hour
-- (controller/domain/deployments/metering).

-- Points of an account that can't leave it, because they are held for what runs. They are a part of the balance.
ALTER TABLE ledger_accounts ADD COLUMN held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0);
CREATE INDEX ledger_accounts_with_held ON ledger_accounts (id) WHERE held > 0;

-- What an hour costs, as the tier says now; NULL: nothing is metered.
ALTER TABLE deploy_tiers ADD COLUMN points_per_hour INTEGER CHECK (points_per_hour BETWEEN 1 AND 1000000);

-- What an hour costs from a UTC day on, until the tier's next row. A change becomes a row of the next day.
CREATE TABLE tier_prices (
  tier_id         TEXT NOT NULL REFERENCES deploy_tiers (id),
  from_day        INTEGER NOT NULL,  -- days since 1970
  points_per_hour INTEGER CHECK (points_per_hour BETWEEN 1 AND 1000000),
  PRIMARY KEY (tier_id, from_day)
) STRICT, WITHOUT ROWID;

-- Why billing has stopped the deployment: the 30 days aren't paid (NULL), the points for the next hour are missing,
-- or a budget is spent.
ALTER TABLE deployment_billing ADD COLUMN stopped_for TEXT CHECK (stopped_for IN ('points', 'budget'));
-- What ran before isn't charged by the price of the present tier; NULL: the deployment has always had this tier.
ALTER TABLE deployment_billing ADD COLUMN metered_from INTEGER;

-- Until when somebody has seen all pods of the cluster. One row.
CREATE TABLE meter_watch (
  one           INTEGER PRIMARY KEY CHECK (one = 1),
  watched_until INTEGER NOT NULL
) STRICT;

-- One run of one container of a deployment on a metered tier: from its start to its end, by the runtime's own times.
CREATE TABLE meter_intervals (
  pod           TEXT NOT NULL,     -- the uid of the pod
  restart       INTEGER NOT NULL,  -- how often its container was restarted before
  deployment_id TEXT NOT NULL REFERENCES deployments (id),
  process       TEXT NOT NULL,
  item          TEXT NOT NULL CHECK (item IN ('base')),
  quantity      INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 1000),
  started_at    INTEGER NOT NULL,
  ended_at      INTEGER,           -- NULL: it runs
  ending        TEXT CHECK (ending IN ('finished', 'vanished')),
  counted_to    INTEGER NOT NULL,  -- meter_days has what ran before
  PRIMARY KEY (pod, restart),
  CHECK ((ended_at IS NULL) = (ending IS NULL)),
  CHECK (ended_at >= started_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX meter_intervals_open ON meter_intervals (deployment_id) WHERE ended_at IS NULL;
CREATE INDEX meter_intervals_of ON meter_intervals (deployment_id, started_at);
CREATE INDEX meter_intervals_ended ON meter_intervals (ended_at) WHERE ended_at IS NOT NULL;

-- What a deployment used on a UTC day, and what was charged for it.
CREATE TABLE meter_days (
  deployment_id        TEXT NOT NULL REFERENCES deployments (id),
  day                  INTEGER NOT NULL,  -- days since 1970
  process              TEXT NOT NULL,
  item                 TEXT NOT NULL CHECK (item IN ('base')),
  app_id               TEXT NOT NULL REFERENCES apps (id),
  milliseconds         INTEGER NOT NULL CHECK (milliseconds >= 0),  -- times quantity
  points               INTEGER NOT NULL DEFAULT 0 CHECK (points BETWEEN 0 AND 9007199254740991),
  unpaid_milliseconds  INTEGER NOT NULL DEFAULT 0 CHECK (unpaid_milliseconds >= 0),  -- which the platform bears
  -- What isn't settled yet: so much of the time, and its price in 3,600,000ths of a point.
  pending_milliseconds INTEGER NOT NULL DEFAULT 0 CHECK (pending_milliseconds >= 0),
  pending_units        INTEGER NOT NULL DEFAULT 0 CHECK (pending_units >= 0),
  PRIMARY KEY (deployment_id, day, process, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX meter_days_pending ON meter_days (app_id, day) WHERE pending_milliseconds > 0;
CREATE INDEX meter_days_by_day ON meter_days (day);

-- The account of an app that has metered deployments.
CREATE TABLE meter_apps (
  app_id    TEXT PRIMARY KEY REFERENCES apps (id),
  remainder INTEGER NOT NULL DEFAULT 0 CHECK (remainder BETWEEN 0 AND 3599999),  -- of a point, in 3,600,000ths
  due_at    INTEGER,  -- when the loop has to look; NULL: only when something happens
  warned_at INTEGER   -- that the points run out
) STRICT, WITHOUT ROWID;
CREATE INDEX meter_apps_due ON meter_apps (due_at) WHERE due_at IS NOT NULL;

-- What an app was charged for a day: one row for each transaction of the ledger.
CREATE TABLE meter_settlements (
  app_id         TEXT NOT NULL REFERENCES apps (id),
  day            INTEGER NOT NULL,
  transaction_id TEXT NOT NULL,
  points         INTEGER NOT NULL CHECK (points BETWEEN 1 AND 9007199254740991),
  PRIMARY KEY (app_id, day, transaction_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX meter_settlements_by_transaction ON meter_settlements (transaction_id);

-- The most that an app, or one of its deployments, may be charged in a period.
CREATE TABLE budgets (
  app_id        TEXT NOT NULL REFERENCES apps (id),
  deployment_id TEXT NOT NULL,  -- empty: the app's
  period        TEXT NOT NULL CHECK (period IN ('day', '30d')),
  points        INTEGER NOT NULL CHECK (points BETWEEN 1 AND 9007199254740991),
  at_limit      TEXT NOT NULL CHECK (at_limit IN ('stop_metered', 'stop_all')),
  told          INTEGER NOT NULL DEFAULT 0,  -- the highest percentage that the owner was told of, and that still holds
  reached_at    INTEGER,  -- since when it is spent
  PRIMARY KEY (app_id, deployment_id, period)
) STRICT, WITHOUT ROWID;
