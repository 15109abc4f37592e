-- 0029_erasures.sql: what a deleted account leaves is emptied in batches.

-- Accounts that were deleted and of whose words something may be left; see domain/erasure.h.
CREATE TABLE erasures (
  user_id TEXT PRIMARY KEY REFERENCES users (id),
  due_at  INTEGER NOT NULL  -- not before
) STRICT, WITHOUT ROWID;
CREATE INDEX erasures_due ON erasures (due_at);
-- Their ledger accounts, and up to which posting the memos are emptied.
CREATE TABLE memo_erasures (
  account_id TEXT PRIMARY KEY REFERENCES ledger_accounts (id),
  user_id    TEXT NOT NULL REFERENCES erasures (user_id),
  up_to      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX memo_erasures_by_user ON memo_erasures (user_id);

-- Those that were deleted before.
INSERT INTO erasures (user_id, due_at) SELECT id, 0 FROM users WHERE deleted_at IS NOT NULL;
INSERT INTO memo_erasures (account_id, user_id)
  SELECT l.id, e.user_id FROM erasures e JOIN ledger_accounts l ON l.kind = 'user' AND l.owner = e.user_id;
INSERT INTO memo_erasures (account_id, user_id)
  SELECT l.id, e.user_id FROM erasures e JOIN apps a ON a.owner_id = e.user_id
  JOIN ledger_accounts l ON l.kind = 'app' AND l.owner = a.id;

-- A memo may be emptied, and nothing else ever changes.
DROP TRIGGER ledger_transactions_stay;
CREATE TRIGGER ledger_transactions_stay BEFORE UPDATE ON ledger_transactions
WHEN NEW.id IS NOT OLD.id OR NEW.kind IS NOT OLD.kind OR NEW.at IS NOT OLD.at OR NEW.memo <> ''
BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;

CREATE INDEX audit_log_by_target ON audit_log (target);
-- What was emptied has no image and no name, and leaves these indexes.
CREATE INDEX deployments_to_erase ON deployments (owner_id)
  WHERE status = 'destroyed' AND removed_at IS NOT NULL AND image <> '';
CREATE INDEX campaigns_to_erase ON campaigns (owner_id)
  WHERE status IN ('exhausted', 'cancelled') AND name <> '';
CREATE INDEX campaign_placements_by_campaign ON campaign_placements (campaign_id);
