-- 0018_app_variables.sql: variables that all deployments of an app inherit; SQLite's file says what the columns mean.

CREATE TABLE app_variables (
  app_id       text COLLATE "C" NOT NULL REFERENCES apps (id),
  name         text COLLATE "C" NOT NULL,
  value_sealed text COLLATE "C" NOT NULL,
  set_at       bigint NOT NULL,
  PRIMARY KEY (app_id, name)
);
