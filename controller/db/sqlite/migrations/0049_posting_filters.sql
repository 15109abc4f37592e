-- 0049_posting_filters.sql: postings have the kind and the time of their transaction, by which an
-- account's history is filtered. Those that come in and those that go out have indexes of their
-- own: an app that is paid a thousand times for each of its payments finds these at once.

DROP TRIGGER ledger_postings_stay;
ALTER TABLE ledger_postings ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger_postings ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
UPDATE ledger_postings
  SET kind = (SELECT t.kind FROM ledger_transactions t WHERE t.id = transaction_id),
      at = (SELECT t.at FROM ledger_transactions t WHERE t.id = transaction_id);
CREATE TRIGGER ledger_postings_stay BEFORE UPDATE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'postings are append-only'); END;

-- With the amount, so that entries are counted in the index alone.
CREATE INDEX ledger_postings_in ON ledger_postings (account_id, at, id, amount) WHERE amount > 0;
CREATE INDEX ledger_postings_out ON ledger_postings (account_id, at, id, amount) WHERE amount < 0;
CREATE INDEX ledger_postings_in_by_kind ON ledger_postings (account_id, kind, at, id, amount)
  WHERE amount > 0;
CREATE INDEX ledger_postings_out_by_kind ON ledger_postings (account_id, kind, at, id, amount)
  WHERE amount < 0;
