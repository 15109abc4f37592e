-- 0065_pending_credits.sql: rows that many writes would meet at.

-- What was credited to an account of which `may_have_pending` (ledger/pending_rows.h) says so, and isn't in its row and
-- those of its days yet. The key is that of the posting, to which no foreign key refers, because looking it up would make
-- writes collide; the audit compares the two. Rows live for about 100 milliseconds, so space is freed early.
CREATE TABLE ledger_pending (
  account_number     bigint NOT NULL,
  transaction_number bigint NOT NULL,
  leg                bigint NOT NULL,
  kind               bigint NOT NULL,
  amount             bigint NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  PRIMARY KEY (account_number, transaction_number, leg)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = false);

-- The place of a transaction in its millisecond (ledger/numbers.h), if it comes with the first one. Reading the last place
-- that is taken would make all writes of a millisecond collide.
CREATE SEQUENCE ledger_places MINVALUE 0 MAXVALUE 524287 CYCLE;
CREATE FUNCTION ledger_transactions_places() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.number := NEW.number + nextval('ledger_places');
  RETURN NEW;
END $$;
CREATE TRIGGER ledger_transactions_places BEFORE INSERT ON ledger_transactions
FOR EACH ROW WHEN (NEW.number % 1048576 = 524288)
EXECUTE FUNCTION ledger_transactions_places();

-- A write that changes a row by its key also reads a page of the key's index. If the new version of the row needs entries
-- in the indexes, writes of two rows with neighbouring keys collide. It needs none if no index has to do with the columns
-- that change, and if the row's page has room for it.
DROP INDEX ledger_accounts_that_differ;
ALTER TABLE ledger_accounts SET (fillfactor = 70);
ALTER TABLE grants SET (fillfactor = 80);
