-- 0078_ended_webhooks.sql: a webhook whose receiver answers with 410 gets nothing any more.

ALTER TABLE webhooks ADD COLUMN ended_at INTEGER;

DROP TRIGGER app_events_to_webhooks;
CREATE TRIGGER app_events_to_webhooks AFTER INSERT ON app_events
BEGIN
  INSERT INTO webhook_deliveries (webhook_id, event_id, subject, next_attempt_at, created_at)
  SELECT w.id, NEW.id, NEW.subject,
         coalesce((SELECT max(d.next_attempt_at) FROM webhook_deliveries d
                   WHERE d.webhook_id = w.id AND d.subject = NEW.subject AND d.state = 'waiting'),
                  NEW.at),
         NEW.at
  FROM webhooks w
  WHERE w.app_id = NEW.app_id
    AND w.ended_at IS NULL
    AND EXISTS (SELECT 1 FROM json_each(w.events) wanted WHERE wanted.value = NEW.type)
    AND (SELECT count(*) FROM webhook_deliveries d
         WHERE d.webhook_id = w.id AND d.state = 'waiting') < 500;
END;
