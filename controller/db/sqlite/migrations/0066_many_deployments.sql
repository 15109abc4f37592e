-- 0066_many_deployments.sql: what a deployment costs if there are many others.

-- The size of an app's namespace is added up whenever one of its deployments is reconciled.
CREATE INDEX deployments_sizes ON deployments (app_id, memory_limit_mb, cpu_limit_millicores)
  WHERE status <> 'destroyed';
