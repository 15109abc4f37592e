-- 0007_admin.sql: what admins gave back of what a deployment was charged, and the indexes by which they list deployments.

-- A refund of points from the treasury to the app. The ledger's audit compares these rows with its transactions, like
-- those of deployment_charges.
CREATE TABLE deployment_refunds (
  id             TEXT PRIMARY KEY,  -- a UUIDv7
  deployment_id  TEXT NOT NULL REFERENCES deployments (id),
  tier_id        TEXT NOT NULL REFERENCES deploy_tiers (id),  -- that the deployment had
  amount         INTEGER NOT NULL CHECK (amount > 0),
  reason         TEXT NOT NULL,
  transaction_id TEXT NOT NULL,
  at             INTEGER NOT NULL
) STRICT;
CREATE INDEX deployment_refunds_by_transaction ON deployment_refunds (transaction_id);
CREATE INDEX deployment_refunds_of ON deployment_refunds (deployment_id, at, id);

CREATE INDEX deployments_living ON deployments (inserted_at, id) WHERE status <> 'destroyed';
CREATE INDEX deployments_by_domain ON deployments (custom_domain) WHERE status <> 'destroyed';
-- Takes the place of the index of the status alone.
DROP INDEX deployments_by_status;
CREATE INDEX deployments_of_status ON deployments (status, inserted_at, id) WHERE status <> 'destroyed';
