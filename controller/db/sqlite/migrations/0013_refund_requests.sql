-- 0013_refund_requests.sql: what users and operators ask to get back, what admins decide by two, and what they take back.

-- A request for points that were spent in an app, which its owner answers, or that a deployment was charged, which an
-- admin answers.
CREATE TABLE refund_requests (
  id          TEXT PRIMARY KEY,  -- a UUIDv7
  subject     TEXT NOT NULL CHECK (subject IN ('spend', 'deployment')),
  subject_id  TEXT NOT NULL,     -- of the ledger's transaction, or of the deployment
  user_id     TEXT NOT NULL REFERENCES users (id),  -- who asks
  app_id      TEXT NOT NULL REFERENCES apps (id),   -- in which the points were spent, or whose deployment it is
  amount      INTEGER NOT NULL CHECK (amount > 0),
  reason      TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('open', 'approved', 'rejected', 'withdrawn', 'expired')),
  note        TEXT,              -- what the answer says
  refunded    INTEGER CHECK (refunded > 0),  -- how many points were given back
  answered_by TEXT CHECK (answered_by IN ('owner', 'admin')),
  inserted_at INTEGER NOT NULL,
  closed_at   INTEGER,
  CHECK ((status = 'open') = (closed_at IS NULL)),
  CHECK ((status = 'approved') = (refunded IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX refund_requests_open ON refund_requests (subject_id) WHERE status = 'open';
CREATE INDEX refund_requests_of_subject ON refund_requests (subject_id);
CREATE INDEX refund_requests_of_user ON refund_requests (user_id, inserted_at, id);
CREATE INDEX refund_requests_of_app ON refund_requests (app_id, subject, inserted_at, id);
CREATE INDEX refund_requests_of_app_in_status ON refund_requests (app_id, subject, status, inserted_at, id);
CREATE INDEX refund_requests_in_status ON refund_requests (status, inserted_at, id);
CREATE INDEX refund_requests_by_time ON refund_requests (inserted_at, id);
CREATE INDEX refund_requests_closed ON refund_requests (closed_at) WHERE closed_at IS NOT NULL;

-- What an admin has done alone with points, which is added up by day, and what waits for another admin.
CREATE TABLE point_proposals (
  id          TEXT PRIMARY KEY,  -- a UUIDv7
  kind        TEXT NOT NULL CHECK (kind IN ('refund', 'deployment_refund', 'claw_back')),
  subject_id  TEXT NOT NULL,     -- of a spend, a deployment or a transaction
  user_id     TEXT REFERENCES users (id),  -- whom it is about, if that is a user
  request_id  TEXT,              -- the refund request that it answers, if it answers one
  amount      INTEGER NOT NULL CHECK (amount > 0),
  reason      TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('alone', 'open', 'confirmed', 'rejected', 'expired')),
  proposed_by TEXT NOT NULL,     -- as in the audit log
  person      TEXT NOT NULL,     -- the user behind that; empty if the internal secret has proposed it
  seconded_by TEXT,              -- the first person who has confirmed what the internal secret has proposed
  decided_by  TEXT,
  inserted_at INTEGER NOT NULL,
  decided_at  INTEGER,
  CHECK ((status = 'open') = (decided_at IS NULL))
) STRICT;
CREATE INDEX point_proposals_alone ON point_proposals (person, inserted_at) WHERE status = 'alone';
CREATE INDEX point_proposals_in_status ON point_proposals (status, inserted_at, id);
CREATE INDEX point_proposals_by_time ON point_proposals (inserted_at, id);
CREATE INDEX point_proposals_decided ON point_proposals (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX point_proposals_of_user ON point_proposals (user_id) WHERE user_id IS NOT NULL;

-- What admins took back of what a transaction had given.
CREATE TABLE claw_backs (
  id             TEXT PRIMARY KEY,  -- that of the ledger's transaction
  transaction_id TEXT NOT NULL,
  amount         INTEGER NOT NULL CHECK (amount > 0),
  inserted_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX claw_backs_of ON claw_backs (transaction_id, amount);
