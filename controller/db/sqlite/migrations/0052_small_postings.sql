-- 0052_small_postings.sql: rows of the ledger refer to each other by numbers, and not by UUIDs as
-- text. What was posted before stays in tables of its own, which controller/domain/ledger/old_postings.h
-- empties by and by while berthd serves; so this file takes no longer if there are millions of them.

DROP TRIGGER ledger_postings_stay;
DROP TRIGGER ledger_postings_remain;
DROP TRIGGER ledger_transactions_stay;
DROP TRIGGER ledger_transactions_remain;

-- Charges keep the ids of their transactions as text. The audit compares the two; a foreign key
-- would need an index of these ids in the ledger, which nothing else needs.
CREATE TABLE new_charges (
  deployment_id  TEXT NOT NULL REFERENCES deployments (id),
  period_start   INTEGER NOT NULL,
  transaction_id TEXT NOT NULL,
  amount         INTEGER NOT NULL,
  tier_id        TEXT REFERENCES deploy_tiers (id),
  PRIMARY KEY (deployment_id, period_start)
) STRICT, WITHOUT ROWID;
INSERT INTO new_charges (deployment_id, period_start, transaction_id, amount, tier_id)
  SELECT deployment_id, period_start, transaction_id, amount, tier_id FROM deployment_charges;
DROP TABLE deployment_charges;
ALTER TABLE new_charges RENAME TO deployment_charges;
CREATE INDEX deployment_charges_by_transaction ON deployment_charges (transaction_id);

CREATE TABLE new_tier_changes (
  id             TEXT PRIMARY KEY,
  deployment_id  TEXT NOT NULL REFERENCES deployments (id),
  period_start   INTEGER NOT NULL,
  from_tier_id   TEXT NOT NULL REFERENCES deploy_tiers (id),
  to_tier_id     TEXT NOT NULL REFERENCES deploy_tiers (id),
  amount         INTEGER NOT NULL,  -- charged; below 0: credited
  transaction_id TEXT,
  at             INTEGER NOT NULL,
  CHECK ((amount = 0) = (transaction_id IS NULL))
) STRICT;
INSERT INTO new_tier_changes (id, deployment_id, period_start, from_tier_id, to_tier_id, amount,
                              transaction_id, at)
  SELECT id, deployment_id, period_start, from_tier_id, to_tier_id, amount, transaction_id, at
  FROM deployment_tier_changes;
DROP TABLE deployment_tier_changes;
ALTER TABLE new_tier_changes RENAME TO deployment_tier_changes;
CREATE INDEX deployment_tier_changes_by_transaction ON deployment_tier_changes (transaction_id)
  WHERE transaction_id IS NOT NULL;
CREATE INDEX deployment_tier_changes_of ON deployment_tier_changes (deployment_id, at, id);

CREATE TABLE new_stipends (
  owner_id       TEXT NOT NULL REFERENCES users (id),
  paid_at        INTEGER NOT NULL,
  tier_id        TEXT NOT NULL REFERENCES deploy_tiers (id),
  amount         INTEGER NOT NULL CHECK (amount >= 1),
  transaction_id TEXT NOT NULL,
  PRIMARY KEY (owner_id, paid_at)
) STRICT, WITHOUT ROWID;
INSERT INTO new_stipends (owner_id, paid_at, tier_id, amount, transaction_id)
  SELECT owner_id, paid_at, tier_id, amount, transaction_id FROM stipends;
DROP TABLE stipends;
ALTER TABLE new_stipends RENAME TO stipends;

-- There are few accounts, compared with postings.
ALTER TABLE ledger_accounts ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
UPDATE ledger_accounts
SET number = numbered.number
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM ledger_accounts) AS numbered
WHERE numbered.id = ledger_accounts.id;
CREATE UNIQUE INDEX ledger_accounts_by_number ON ledger_accounts (number);

ALTER TABLE ledger_postings RENAME TO ledger_postings_old;
ALTER TABLE ledger_transactions RENAME TO ledger_transactions_old;
-- How far they have come. The row is gone, and so are the old tables, when all is moved.
CREATE TABLE ledger_old_rows (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  postings INTEGER NOT NULL,  -- that there were
  moved    INTEGER NOT NULL,
  indexes  INTEGER NOT NULL   -- that are still to be dropped, because rows are faster removed then
) STRICT;
INSERT INTO ledger_old_rows (one, postings, moved, indexes)
  SELECT 1, coalesce(max(id), 0), 0, 5 FROM ledger_postings_old;

CREATE TABLE ledger_kinds (
  number INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL UNIQUE  -- mint, deployment, …
) STRICT;

-- The number has the transaction's time in milliseconds in its upper bits, and its place among those
-- of the same millisecond in the lower 20; see controller/domain/ledger/numbers.h.
CREATE TABLE ledger_transactions (
  number  INTEGER PRIMARY KEY,
  id_high INTEGER NOT NULL,  -- the upper and the lower 64 bits of the UUID
  id_low  INTEGER NOT NULL,
  kind    INTEGER NOT NULL REFERENCES ledger_kinds (number),
  memo    TEXT NOT NULL
) STRICT;

-- The key is the order of an account's history: what came in, and what went out, newest last.
CREATE TABLE ledger_postings (
  account_number     INTEGER NOT NULL REFERENCES ledger_accounts (number),
  incoming           INTEGER NOT NULL CHECK (incoming IN (0, 1)),
  transaction_number INTEGER NOT NULL REFERENCES ledger_transactions (number),
  leg                INTEGER NOT NULL CHECK (leg >= 0),  -- its place in the transaction, from 0
  kind               INTEGER NOT NULL,                   -- of the transaction
  amount             INTEGER NOT NULL CHECK (amount <> 0 AND abs(amount) <= 9007199254740991),
  PRIMARY KEY (account_number, incoming, transaction_number, leg),
  CHECK ((incoming = 1) = (amount > 0))
) STRICT, WITHOUT ROWID;
-- With the amount, so that a transaction is added up in the index alone.
CREATE UNIQUE INDEX ledger_postings_of_transaction
  ON ledger_postings (transaction_number, leg, amount);
CREATE INDEX ledger_postings_of_kind
  ON ledger_postings (account_number, incoming, kind, transaction_number, leg);

CREATE TRIGGER ledger_postings_stay BEFORE UPDATE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'postings are append-only'); END;
CREATE TRIGGER ledger_postings_remain BEFORE DELETE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'postings are append-only'); END;
-- A memo may be emptied, and nothing else ever changes.
CREATE TRIGGER ledger_transactions_stay BEFORE UPDATE ON ledger_transactions
WHEN NEW.number IS NOT OLD.number OR NEW.id_high IS NOT OLD.id_high OR NEW.id_low IS NOT OLD.id_low
  OR NEW.kind IS NOT OLD.kind OR NEW.memo <> ''
BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;
CREATE TRIGGER ledger_transactions_remain BEFORE DELETE ON ledger_transactions
BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;
CREATE TRIGGER ledger_kinds_stay BEFORE UPDATE ON ledger_kinds
BEGIN SELECT RAISE(ABORT, 'kinds are append-only'); END;
CREATE TRIGGER ledger_kinds_remain BEFORE DELETE ON ledger_kinds
BEGIN SELECT RAISE(ABORT, 'kinds are append-only'); END;
-- Old rows may only go.
CREATE TRIGGER ledger_postings_old_stay BEFORE UPDATE ON ledger_postings_old
BEGIN SELECT RAISE(ABORT, 'postings are append-only'); END;
CREATE TRIGGER ledger_transactions_old_stay BEFORE UPDATE ON ledger_transactions_old
BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;

-- These were ids of old postings, and are numbers of transactions now: memos are looked at again.
UPDATE memo_erasures SET up_to = 0;
