-- 0042_public_clients.sql: apps without a secret (public clients, RFC 6749, section 2.1), and
-- berth's own one, which works for all apps of the person who is logged in.
ALTER TABLE apps ADD COLUMN is_public INTEGER NOT NULL DEFAULT 0 CHECK (is_public IN (0, 1));
ALTER TABLE apps ADD COLUMN built_in INTEGER NOT NULL DEFAULT 0 CHECK (built_in IN (0, 1));
