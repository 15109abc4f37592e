-- 0011_receipts.sql: proofs that a transaction is in a closed day of the ledger; SQLite's file says what the columns mean.
ALTER TABLE ledger_closed_days ADD COLUMN root text COLLATE "C";

CREATE TABLE ledger_day_trees (
  day   bigint PRIMARY KEY,
  parts text COLLATE "C" NOT NULL
);
