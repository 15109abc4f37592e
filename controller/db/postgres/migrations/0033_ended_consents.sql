-- 0033_ended_consents.sql: the ends of consents; SQLite's file says what the column means.
ALTER TABLE apps ADD COLUMN consents_ended bigint NOT NULL DEFAULT 0 CHECK (consents_ended IN (0, 1));
DROP INDEX apps_deleted;
CREATE INDEX apps_ending ON apps (id) WHERE deleted_at IS NOT NULL AND consents_ended = 0;
