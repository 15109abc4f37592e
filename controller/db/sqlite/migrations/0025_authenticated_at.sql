-- 0025_authenticated_at.sql: when the user last proved a password or a second factor in a session.
-- Every session so far began with a login, which is such a proof.
ALTER TABLE sessions ADD COLUMN authenticated_at INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET authenticated_at = created_at;
