-- 0033_ended_consents.sql: the consents to a deleted app are ended once, and not looked for ever after.

-- Whether all consents to a deleted app have ended. Apps that were deleted before this are looked at once more.
ALTER TABLE apps ADD COLUMN consents_ended INTEGER NOT NULL DEFAULT 0 CHECK (consents_ended IN (0, 1));
DROP INDEX apps_deleted;
CREATE INDEX apps_ending ON apps (id) WHERE deleted_at IS NOT NULL AND consents_ended = 0;
