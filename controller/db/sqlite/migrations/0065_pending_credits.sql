-- 0065_pending_credits.sql: rows that many writes would meet at, if there were several writers.

-- What was credited to an account and isn't in its row and those of its days yet (ledger/pending_rows.h). SQLite has one
-- writer, so the table is empty, except in a database that came from PostgreSQL, until berthd starts on it.
CREATE TABLE ledger_pending (
  account_number     INTEGER NOT NULL,
  transaction_number INTEGER NOT NULL,
  leg                INTEGER NOT NULL,
  kind               INTEGER NOT NULL,
  amount             INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  PRIMARY KEY (account_number, transaction_number, leg)
) STRICT, WITHOUT ROWID;
