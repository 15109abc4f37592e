-- 0077_bonus_points.sql: which of an account's points are a bonus, given by the treasury for nothing. They reach other
-- accounts only within bounds (controller/domain/accounts/bonuses.h).

-- A bonus isn't checked against the balance here, because the two change in different statements; the audit compares
-- them.
ALTER TABLE ledger_accounts ADD COLUMN bonus INTEGER NOT NULL DEFAULT 0 CHECK (bonus >= 0);

-- How many points of their own the user has spent in other people's apps. It isn't counted beyond what makes a bonus
-- their own.
ALTER TABLE users ADD COLUMN own_spent INTEGER NOT NULL DEFAULT 0 CHECK (own_spent BETWEEN 0 AND 100);
-- How many bonus points of others have reached the user since the time.
ALTER TABLE users ADD COLUMN bonus_received INTEGER NOT NULL DEFAULT 0 CHECK (bonus_received >= 0);
ALTER TABLE users ADD COLUMN bonus_since INTEGER NOT NULL DEFAULT 0;

-- Before, nobody knew which points were spent. Whatever an account lost beyond what it was given for nothing was its own.
UPDATE users
SET own_spent = coalesce((
  SELECT min(max(a.debited - users.free_points, 0), 100)
  FROM ledger_accounts a
  WHERE a.id = 'user:' || users.id), 0);
UPDATE ledger_accounts
SET bonus = coalesce((
  SELECT min(u.free_points, ledger_accounts.balance)
  FROM users u
  WHERE u.id = ledger_accounts.owner AND u.own_spent < 100), 0)
WHERE kind = 'user';
-- Spending of bonus points no longer counts for referrals, so nothing is taken off for them either.
UPDATE users
SET referral_spent = max(referral_spent - free_points, 0)
WHERE referral_rewarded_at IS NULL AND referral_spent > 0;
