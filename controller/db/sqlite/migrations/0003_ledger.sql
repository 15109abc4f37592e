-- 0003_ledger.sql: double entry, append-only; the only place that a balance comes from.
-- Amounts are whole points of at most 2^53-1, so that JSON numbers hold them and sums can't turn
-- into a REAL.

CREATE TABLE ledger_accounts (
  id      TEXT PRIMARY KEY,
  kind    TEXT NOT NULL CHECK (kind IN ('user', 'app', 'treasury', 'campaign', 'reservation', 'issuance')),
  owner   TEXT NOT NULL,  -- of the kind: a user's id, an app's id, …; empty for treasury and issuance
  balance INTEGER NOT NULL DEFAULT 0 CHECK (abs(balance) <= 9007199254740991),
  UNIQUE (kind, owner),
  -- Issuance is minus what was minted; nobody else can owe.
  CHECK (balance >= 0 OR kind = 'issuance')
) STRICT;

CREATE TABLE ledger_transactions (
  id   TEXT PRIMARY KEY,
  kind TEXT NOT NULL,  -- mint, deployment, …
  memo TEXT NOT NULL,
  at   INTEGER NOT NULL
) STRICT;

CREATE TABLE ledger_postings (
  id             INTEGER PRIMARY KEY,
  transaction_id TEXT NOT NULL REFERENCES ledger_transactions (id),
  account_id     TEXT NOT NULL REFERENCES ledger_accounts (id),
  amount         INTEGER NOT NULL CHECK (amount <> 0 AND abs(amount) <= 9007199254740991)
) STRICT;
CREATE INDEX ledger_postings_by_account ON ledger_postings (account_id, id);
CREATE INDEX ledger_postings_by_transaction ON ledger_postings (transaction_id);

CREATE TRIGGER ledger_postings_stay BEFORE UPDATE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'postings are append-only'); END;
CREATE TRIGGER ledger_postings_remain BEFORE DELETE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'postings are append-only'); END;
CREATE TRIGGER ledger_transactions_stay BEFORE UPDATE ON ledger_transactions
BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;
CREATE TRIGGER ledger_transactions_remain BEFORE DELETE ON ledger_transactions
BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;
