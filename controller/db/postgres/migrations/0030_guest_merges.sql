-- 0030_guest_merges.sql: guests who were merged into an account; SQLite's file says what the columns mean.
ALTER TABLE users ADD COLUMN merged_into text COLLATE "C";
CREATE INDEX users_merged ON users (merged_into, guest_of, id) WHERE merged_into IS NOT NULL;
ALTER TABLE user_cosmetics ADD COLUMN paid bigint CHECK (paid >= 0);
UPDATE user_cosmetics
SET paid = (SELECT price_points FROM cosmetic_items i WHERE i.id = user_cosmetics.item_id)
WHERE acquired_via = 'purchase' AND user_id IN (SELECT id FROM users WHERE guest_due_at IS NOT NULL);
