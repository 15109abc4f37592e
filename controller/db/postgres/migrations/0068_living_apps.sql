-- 0068_living_apps.sql: a deployment isn't created in an app that is deleted at the same time.

-- Deployments are created by writes with row locks, which don't notice by themselves that a row they have read was
-- changed by another write. So the row of the app is locked, and with it, of a creation and a deletion at the same time,
-- the later one runs again and sees what the earlier one did. All who create deployments of the app wait for this row.
-- Therefore it is changed when the transaction is about to be committed, and after the trigger deployments_created,
-- whose name is before this one's: that waits for the events of others, and here nobody waits any more.
CREATE FUNCTION deployments_in_living_apps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE apps SET updated_at = updated_at WHERE id = NEW.app_id AND deleted_at IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the app was deleted' USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER deployments_in_living_apps AFTER INSERT ON deployments
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.status <> 'destroyed')
EXECUTE FUNCTION deployments_in_living_apps();
