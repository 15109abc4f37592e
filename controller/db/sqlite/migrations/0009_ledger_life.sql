-- 0009_ledger_life.sql: reservations, and what the treasury gave away.

-- Points that stand on a reservation account until they are posted to somebody, or go back.
CREATE TABLE ledger_holds (
  id         TEXT PRIMARY KEY,
  source_id  TEXT NOT NULL REFERENCES ledger_accounts (id),
  held_id    TEXT NOT NULL REFERENCES ledger_accounts (id),  -- of kind reservation
  amount     INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  purpose    TEXT NOT NULL,
  state      TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'posted', 'voided', 'expired')),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  closed_at  INTEGER,
  CHECK ((state = 'open') = (closed_at IS NULL))
) STRICT;
CREATE INDEX ledger_holds_open ON ledger_holds (expires_at) WHERE state = 'open';
CREATE INDEX ledger_holds_of_source ON ledger_holds (source_id) WHERE state = 'open';
CREATE INDEX ledger_holds_closed ON ledger_holds (closed_at) WHERE state <> 'open';

-- What was given away on a UTC day: to a user, through the apps of an owner, in total.
CREATE TABLE reward_days (
  subject TEXT NOT NULL,     -- user:<id>, owner:<id>, total
  day     INTEGER NOT NULL,  -- days since 1970
  points  INTEGER NOT NULL CHECK (points BETWEEN 0 AND 9007199254740991),
  PRIMARY KEY (subject, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX reward_days_by_day ON reward_days (day);

-- Who brought somebody is rewarded once, after the other has really used the service.
ALTER TABLE users ADD COLUMN referral_rewarded_at INTEGER;
-- What the treasury gave him, and, while that is undecided, what somebody who was brought spent in
-- apps of others.
ALTER TABLE users ADD COLUMN free_points INTEGER NOT NULL DEFAULT 0
  CHECK (free_points BETWEEN 0 AND 9007199254740991);
ALTER TABLE users ADD COLUMN referral_spent INTEGER NOT NULL DEFAULT 0
  CHECK (referral_spent BETWEEN 0 AND 9007199254740991);
UPDATE users SET free_points = coalesce(signup_bonus, 0);
