-- 0008_mail.sql: mail that is sent. A row waits until it is sent or has failed for good; some time
-- after that it is removed.

ALTER TABLE outbox ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
-- Not before; 0: at once. Set before each attempt, so that one that kills berthd counts as well.
ALTER TABLE outbox ADD COLUMN next_attempt_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN failed_at INTEGER;
ALTER TABLE outbox ADD COLUMN last_error TEXT;  -- the mail server's words, or ours

DROP INDEX outbox_waiting;
CREATE INDEX outbox_waiting ON outbox (next_attempt_at, created_at)
  WHERE sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX outbox_failed ON outbox (failed_at) WHERE failed_at IS NOT NULL;
