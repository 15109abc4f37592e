-- 0029_client_metadata.sql: clients that nobody has registered; SQLite's file says what the column means.
ALTER TABLE apps ADD COLUMN unregistered_until bigint;
CREATE INDEX apps_unregistered ON apps (unregistered_until) WHERE unregistered_until IS NOT NULL;
