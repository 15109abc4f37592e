-- 0003_account_numbers.sql: the engine numbers the ledger's accounts. On PostgreSQL an identity does it, because there the
-- largest number plus one is the same for two writers. SQLite has one writer.
CREATE TRIGGER ledger_accounts_number AFTER INSERT ON ledger_accounts
WHEN NEW.number = 0
BEGIN
  UPDATE ledger_accounts
  SET number = (SELECT max(number) FROM ledger_accounts) + 1
  WHERE id = NEW.id;
END;
