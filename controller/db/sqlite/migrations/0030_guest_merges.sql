-- 0030_guest_merges.sql: guests who were merged into an account that their player had already.

-- The account that a removed guest was merged into; NULL: none. The row stays as long as the account does, so that the
-- guest's id in histories, receipts and apps can be resolved. Without a foreign key, as guest_of is.
ALTER TABLE users ADD COLUMN merged_into TEXT;
CREATE INDEX users_merged ON users (merged_into, guest_of, id) WHERE merged_into IS NOT NULL;

-- What the owner of an item has paid for it, which a merge gives back for the second one of two; NULL: it was a gift, or
-- it was bought before this migration by somebody who wasn't a guest then.
ALTER TABLE user_cosmetics ADD COLUMN paid INTEGER CHECK (paid >= 0);
UPDATE user_cosmetics
SET paid = (SELECT price_points FROM cosmetic_items i WHERE i.id = user_cosmetics.item_id)
WHERE acquired_via = 'purchase' AND user_id IN (SELECT id FROM users WHERE guest_due_at IS NOT NULL);
