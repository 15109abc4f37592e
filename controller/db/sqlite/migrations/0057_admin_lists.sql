-- 0057_admin_lists.sql: what admins filter the audit log by, and the list of all apps. Ids begin with the time.

DROP INDEX audit_log_by_target;
DROP INDEX audit_log_by_time;
CREATE INDEX audit_log_by_target ON audit_log (target, id);
CREATE INDEX audit_log_by_actor ON audit_log (actor, id);
CREATE INDEX audit_log_by_action ON audit_log (action, id);

CREATE INDEX apps_living ON apps (inserted_at, id, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX apps_by_lower_name ON apps (lower(app_name), id, deleted_at) WHERE deleted_at IS NULL;

-- The deployments that failed last.
CREATE INDEX deployments_failed ON deployments (updated_at, id) WHERE status = 'errored';
