-- 0007_admin.sql: what admins gave back of what a deployment was charged, and the indexes by which they list deployments;
-- SQLite's file says what the columns mean.
CREATE TABLE deployment_refunds (
  id             text COLLATE "C" PRIMARY KEY,
  deployment_id  text COLLATE "C" NOT NULL REFERENCES deployments (id),
  tier_id        text COLLATE "C" NOT NULL REFERENCES deploy_tiers (id),
  amount         bigint NOT NULL CHECK (amount > 0),
  reason         text COLLATE "C" NOT NULL,
  transaction_id text COLLATE "C" NOT NULL,
  at             bigint NOT NULL
);
CREATE INDEX deployment_refunds_by_transaction ON deployment_refunds (transaction_id);
CREATE INDEX deployment_refunds_of ON deployment_refunds (deployment_id, at, id);

CREATE INDEX deployments_living ON deployments (inserted_at, id) WHERE status <> 'destroyed';
CREATE INDEX deployments_by_domain ON deployments (custom_domain) WHERE status <> 'destroyed';
DROP INDEX deployments_by_status;
CREATE INDEX deployments_of_status ON deployments (status, inserted_at, id) WHERE status <> 'destroyed';
