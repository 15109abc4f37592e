-- 0018_app_variables.sql: variables that an operator sets once for an app, and that all its deployments inherit.

CREATE TABLE app_variables (
  app_id       TEXT NOT NULL REFERENCES apps (id),
  name         TEXT NOT NULL,
  value_sealed TEXT NOT NULL,  -- for this app and this name alone
  set_at       INTEGER NOT NULL,  -- when it got its value
  PRIMARY KEY (app_id, name)
) STRICT;
