-- 0060_abandoned_channels.sql: a chat channel that nobody has been in for long is deleted.

-- When the last member left; NULL while there are members. Channels without members are counted from their beginning.
ALTER TABLE chat_channels ADD COLUMN abandoned_at INTEGER;
CREATE INDEX chat_channels_abandoned ON chat_channels (abandoned_at) WHERE abandoned_at IS NOT NULL;
UPDATE chat_channels
SET abandoned_at = created_at
WHERE NOT EXISTS (SELECT 1 FROM chat_members WHERE channel_id = chat_channels.id);
