-- 0011_receipts.sql: proofs that a transaction is in a closed day of the ledger.

-- The root of the tree of the day's transactions (controller/domain/ledger/proofs.h). The chain covers it. Days that were
-- closed before this file have none.
ALTER TABLE ledger_closed_days ADD COLUMN root TEXT;  -- SHA-256 in hex

-- The roots of the parts of that tree, so that a proof reads one part and not the whole day. They are in one row, because
-- they are only read together.
CREATE TABLE ledger_day_trees (
  day   INTEGER PRIMARY KEY,  -- of ledger_closed_days
  parts TEXT NOT NULL  -- of each part, the id of its first transaction and its root, in hex: 96 digits
) STRICT;
