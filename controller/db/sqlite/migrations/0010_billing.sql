-- 0010_billing.sql: what a deployment has paid for, and when somebody has to look at that again.

CREATE TABLE deployment_billing (
  deployment_id TEXT PRIMARY KEY REFERENCES deployments (id),
  app_id        TEXT NOT NULL REFERENCES apps (id),
  paid_until    INTEGER NOT NULL,  -- the end of the newest period that was paid for, or was free
  -- Points for 30 days, by which that period was paid: what a change of tier is reckoned from.
  rate          INTEGER NOT NULL CHECK (rate BETWEEN 0 AND 9007199254740991),
  due_at        INTEGER,  -- when the loop has to look; NULL: when something happens
  warned_at     INTEGER,  -- of the renewal at paid_until
  -- While an admin's suspension lasts: whether the deployment starts again behind it.
  resumes       INTEGER NOT NULL DEFAULT 0 CHECK (resumes IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX deployment_billing_due ON deployment_billing (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deployment_billing_by_app ON deployment_billing (app_id, paid_until)
  WHERE due_at IS NOT NULL;
CREATE INDEX deployments_in_debt ON deployments (id)
  WHERE billing_status IN ('warning', 'suspended');
CREATE INDEX deployments_in_debt_by_app ON deployments (app_id, id)
  WHERE billing_status IN ('warning', 'suspended');
CREATE INDEX deployments_by_tier ON deployments (tier_id) WHERE status <> 'destroyed';

-- 2592000000 ms are 30 days.
INSERT INTO deployment_billing (deployment_id, app_id, paid_until, rate, due_at)
  SELECT d.id, d.app_id,
    coalesce((SELECT max(c.period_start) + 2592000000 FROM deployment_charges c
              WHERE c.deployment_id = d.id), d.inserted_at + 2592000000),
    coalesce((SELECT c.amount FROM deployment_charges c WHERE c.deployment_id = d.id
              ORDER BY c.period_start DESC LIMIT 1), 0),
    CASE WHEN d.status <> 'destroyed' THEN 0 END
  FROM deployments d;

ALTER TABLE deployment_charges ADD COLUMN tier_id TEXT REFERENCES deploy_tiers (id);
UPDATE deployment_charges
  SET tier_id = (SELECT d.tier_id FROM deployments d WHERE d.id = deployment_id);

-- What a change of tier cost for the rest of its period, or gave back.
CREATE TABLE deployment_tier_changes (
  id             TEXT PRIMARY KEY,
  deployment_id  TEXT NOT NULL REFERENCES deployments (id),
  period_start   INTEGER NOT NULL,
  from_tier_id   TEXT NOT NULL REFERENCES deploy_tiers (id),
  to_tier_id     TEXT NOT NULL REFERENCES deploy_tiers (id),
  amount         INTEGER NOT NULL,  -- charged; below 0: credited
  transaction_id TEXT REFERENCES ledger_transactions (id),
  at             INTEGER NOT NULL,
  CHECK ((amount = 0) = (transaction_id IS NULL))
) STRICT;
CREATE INDEX deployment_tier_changes_of ON deployment_tier_changes (deployment_id, at);

-- What owners of deployments got for being on a tier with a stipend.
CREATE TABLE stipends (
  owner_id       TEXT NOT NULL REFERENCES users (id),
  paid_at        INTEGER NOT NULL,
  tier_id        TEXT NOT NULL REFERENCES deploy_tiers (id),
  amount         INTEGER NOT NULL CHECK (amount >= 1),
  transaction_id TEXT NOT NULL REFERENCES ledger_transactions (id),
  PRIMARY KEY (owner_id, paid_at)
) STRICT, WITHOUT ROWID;
