-- 0013_refund_requests.sql: what users and operators ask to get back, what admins decide by two, and what they take back;
-- SQLite's file says what the columns mean.
CREATE TABLE refund_requests (
  id          text COLLATE "C" PRIMARY KEY,
  subject     text COLLATE "C" NOT NULL CHECK (subject IN ('spend', 'deployment')),
  subject_id  text COLLATE "C" NOT NULL,
  user_id     text COLLATE "C" NOT NULL REFERENCES users (id),
  app_id      text COLLATE "C" NOT NULL REFERENCES apps (id),
  amount      bigint NOT NULL CHECK (amount > 0),
  reason      text COLLATE "C" NOT NULL,
  status      text COLLATE "C" NOT NULL CHECK (status IN ('open', 'approved', 'rejected', 'withdrawn', 'expired')),
  note        text COLLATE "C",
  refunded    bigint CHECK (refunded > 0),
  answered_by text COLLATE "C" CHECK (answered_by IN ('owner', 'admin')),
  inserted_at bigint NOT NULL,
  closed_at   bigint,
  CHECK ((status = 'open') = (closed_at IS NULL)),
  CHECK ((status = 'approved') = (refunded IS NOT NULL))
);
CREATE UNIQUE INDEX refund_requests_open ON refund_requests (subject_id) WHERE status = 'open';
CREATE INDEX refund_requests_of_subject ON refund_requests (subject_id);
CREATE INDEX refund_requests_of_user ON refund_requests (user_id, inserted_at, id);
CREATE INDEX refund_requests_of_app ON refund_requests (app_id, subject, inserted_at, id);
CREATE INDEX refund_requests_of_app_in_status ON refund_requests (app_id, subject, status, inserted_at, id);
CREATE INDEX refund_requests_in_status ON refund_requests (status, inserted_at, id);
CREATE INDEX refund_requests_by_time ON refund_requests (inserted_at, id);
CREATE INDEX refund_requests_closed ON refund_requests (closed_at) WHERE closed_at IS NOT NULL;

CREATE TABLE point_proposals (
  id          text COLLATE "C" PRIMARY KEY,
  kind        text COLLATE "C" NOT NULL CHECK (kind IN ('refund', 'deployment_refund', 'claw_back')),
  subject_id  text COLLATE "C" NOT NULL,
  user_id     text COLLATE "C" REFERENCES users (id),
  request_id  text COLLATE "C",
  amount      bigint NOT NULL CHECK (amount > 0),
  reason      text COLLATE "C" NOT NULL,
  status      text COLLATE "C" NOT NULL CHECK (status IN ('alone', 'open', 'confirmed', 'rejected', 'expired')),
  proposed_by text COLLATE "C" NOT NULL,
  person      text COLLATE "C" NOT NULL,
  seconded_by text COLLATE "C",
  decided_by  text COLLATE "C",
  inserted_at bigint NOT NULL,
  decided_at  bigint,
  CHECK ((status = 'open') = (decided_at IS NULL))
);
CREATE INDEX point_proposals_alone ON point_proposals (person, inserted_at) WHERE status = 'alone';
CREATE INDEX point_proposals_in_status ON point_proposals (status, inserted_at, id);
CREATE INDEX point_proposals_by_time ON point_proposals (inserted_at, id);
CREATE INDEX point_proposals_decided ON point_proposals (decided_at) WHERE decided_at IS NOT NULL;
CREATE INDEX point_proposals_of_user ON point_proposals (user_id) WHERE user_id IS NOT NULL;

CREATE TABLE claw_backs (
  id             text COLLATE "C" PRIMARY KEY,
  transaction_id text COLLATE "C" NOT NULL,
  amount         bigint NOT NULL CHECK (amount > 0),
  inserted_at    bigint NOT NULL
);
CREATE INDEX claw_backs_of ON claw_backs (transaction_id, amount);
