-- 0035_session_offers.sql: whether the user has seen that the app may get session tokens. Without a page (prompt=none), an
-- app that turned them on later gets none.
ALTER TABLE grants ADD COLUMN session_offered bigint NOT NULL DEFAULT 0 CHECK (session_offered IN (0, 1));
