-- 0066_many_deployments.sql: what a deployment costs if there are many others.

-- The size of an app's namespace is added up whenever one of its deployments is reconciled.
CREATE INDEX deployments_sizes ON deployments (app_id, memory_limit_mb, cpu_limit_millicores)
  WHERE status <> 'destroyed';

-- Whoever adds an event keeps all others from adding one until the transaction ends (0063). So the events of deployments
-- are added when it is about to be committed, and not with the row, after which there may be several round trips.
DROP TRIGGER deployments_created ON deployments;
CREATE CONSTRAINT TRIGGER deployments_created AFTER INSERT ON deployments
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION deployments_created();

DROP TRIGGER deployments_changed ON deployments;
CREATE CONSTRAINT TRIGGER deployments_changed
AFTER UPDATE OF status, phase, reason, cause, message, container_id, health_status ON deployments
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW
WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.phase IS DISTINCT FROM NEW.phase
  OR OLD.reason IS DISTINCT FROM NEW.reason OR OLD.cause IS DISTINCT FROM NEW.cause
  OR OLD.message IS DISTINCT FROM NEW.message OR OLD.container_id IS DISTINCT FROM NEW.container_id
  OR OLD.health_status IS DISTINCT FROM NEW.health_status)
EXECUTE FUNCTION deployments_changed();
