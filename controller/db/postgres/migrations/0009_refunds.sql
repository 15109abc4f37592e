-- 0009_refunds.sql: what apps gave back of what users spent in them; SQLite's file says what the columns mean.
CREATE TABLE refundable_spends (
  id       text COLLATE "C" PRIMARY KEY,
  user_id  text COLLATE "C" NOT NULL REFERENCES users (id),
  amount   bigint NOT NULL CHECK (amount > 0),
  bonus    bigint NOT NULL CHECK (bonus BETWEEN 0 AND amount),
  own_use  bigint NOT NULL CHECK (own_use BETWEEN 0 AND amount - bonus),
  referral bigint NOT NULL CHECK (referral BETWEEN 0 AND amount - bonus),
  refunded bigint NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND amount)
);

CREATE TABLE refunds (
  id           text COLLATE "C" PRIMARY KEY,
  spend_id     text COLLATE "C" NOT NULL REFERENCES refundable_spends (id),
  amount       bigint NOT NULL CHECK (amount > 0),
  bonus        bigint NOT NULL CHECK (bonus BETWEEN 0 AND amount),
  initiated_by text COLLATE "C" NOT NULL CHECK (initiated_by IN ('owner', 'admin')),
  inserted_at  bigint NOT NULL
);
CREATE INDEX refunds_of ON refunds (spend_id, id);
