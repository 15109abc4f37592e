-- 0063_ids_in_order.sql: the ids of events, and of the entries of a chat channel, rise in the order of their commits.

-- A stream goes on behind the last id that it has read, so it would skip an id that is committed behind a higher one.
-- Whoever takes an id therefore waits for the end of the transaction that took the one before. SQLite has one writer.
-- The trigger runs before the row gets its id.
CREATE FUNCTION app_events_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1, 0);
  RETURN NULL;
END $$;
CREATE TRIGGER app_events_in_order BEFORE INSERT ON app_events
FOR EACH STATEMENT EXECUTE FUNCTION app_events_in_order();

-- Each channel for itself. The id that the row brings was taken before the lock.
CREATE FUNCTION chat_entries_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(2, hashtext(NEW.channel_id));
  NEW.seq := nextval(pg_get_serial_sequence('chat_entries', 'seq'));
  RETURN NEW;
END $$;
CREATE TRIGGER chat_entries_in_order BEFORE INSERT ON chat_entries
FOR EACH ROW EXECUTE FUNCTION chat_entries_in_order();
