-- 0009_refunds.sql: what apps gave back of what users spent in them.

-- A spend of which something has to be known if it is given back: it took bonus points, it was counted, or a part of it
-- was given back. Other spends have no row. Points that were counted come back as a bonus, because they can't count twice
-- (controller/domain/points/refunds.h).
CREATE TABLE refundable_spends (
  id       TEXT PRIMARY KEY,  -- that of the ledger's transaction
  user_id  TEXT NOT NULL REFERENCES users (id),
  amount   INTEGER NOT NULL CHECK (amount > 0),
  bonus    INTEGER NOT NULL CHECK (bonus BETWEEN 0 AND amount),             -- how many of the points were a bonus
  own_use  INTEGER NOT NULL CHECK (own_use BETWEEN 0 AND amount - bonus),   -- how many of the others users.own_spent got
  referral INTEGER NOT NULL CHECK (referral BETWEEN 0 AND amount - bonus),  -- how many of them users.referral_spent got
  refunded INTEGER NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND amount)
) STRICT;

-- Their parts that were given back.
CREATE TABLE refunds (
  id           TEXT PRIMARY KEY,  -- that of the ledger's transaction
  spend_id     TEXT NOT NULL REFERENCES refundable_spends (id),
  amount       INTEGER NOT NULL CHECK (amount > 0),
  bonus        INTEGER NOT NULL CHECK (bonus BETWEEN 0 AND amount),  -- how many came back as a bonus
  initiated_by TEXT NOT NULL CHECK (initiated_by IN ('owner', 'admin')),
  inserted_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX refunds_of ON refunds (spend_id, id);
