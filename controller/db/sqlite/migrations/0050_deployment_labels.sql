-- 0050_deployment_labels.sql: deployments are found by their labels.

-- A row for each label of a deployment that isn't destroyed; deployments.labels has the same.
CREATE TABLE deployment_labels (
  deployment_id TEXT NOT NULL REFERENCES deployments (id),
  label         TEXT NOT NULL,
  value         TEXT NOT NULL,
  app_id        TEXT NOT NULL,     -- of the deployment
  inserted_at   INTEGER NOT NULL,  -- of the deployment
  PRIMARY KEY (deployment_id, label)
) STRICT, WITHOUT ROWID;
INSERT INTO deployment_labels (deployment_id, label, value, app_id, inserted_at)
  SELECT d.id, l.key, l.value, d.app_id, d.inserted_at FROM deployments d, json_each(d.labels) l
  WHERE d.status <> 'destroyed';
CREATE INDEX deployment_labels_of_app
  ON deployment_labels (app_id, label, value, inserted_at, deployment_id);
