-- 0045_closed_days.sql: the audit of the ledger by days.

-- The days on which nothing more can be posted. Days without transactions have no row. A row
-- without a hash is being read; only the newest one can be that.
CREATE TABLE ledger_closed_days (
  day          INTEGER PRIMARY KEY,  -- days since 1970, in UTC
  closed_at    INTEGER NOT NULL,
  transactions INTEGER,
  postings     INTEGER,
  moved        INTEGER,  -- the sum of the amounts above 0, at most 9007199254740991
  hash         TEXT,     -- of the day's transactions and postings, without memos: SHA-256 in hex
  chain        TEXT,     -- of the row before it and of this row: SHA-256 in hex
  CHECK ((hash IS NULL) = (chain IS NULL))
) STRICT;

-- How far the audit's parts have come that read old rows in the background.
CREATE TABLE ledger_audit_parts (
  part        TEXT PRIMARY KEY,
  position    TEXT NOT NULL,     -- the last key that was read in this pass; empty at its start
  checked     INTEGER NOT NULL,  -- rows of this pass
  broken      INTEGER NOT NULL,  -- violations in this pass
  first       TEXT NOT NULL,     -- the first of them
  ended_at    INTEGER,           -- the end of the pass before it, and what that one found
  was_checked INTEGER NOT NULL,
  was_broken  INTEGER NOT NULL,
  was_first   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The audit looks for the charge of a transaction.
CREATE INDEX deployment_charges_by_transaction ON deployment_charges (transaction_id);
CREATE INDEX deployment_tier_changes_by_transaction ON deployment_tier_changes (transaction_id)
  WHERE transaction_id IS NOT NULL;
