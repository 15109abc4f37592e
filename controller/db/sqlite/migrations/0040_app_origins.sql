-- 0040_app_origins.sql: the web origins from which an app's pages may call the API (CORS).

CREATE TABLE app_origins (
  app_id TEXT NOT NULL REFERENCES apps (id),
  origin TEXT NOT NULL,  -- as browsers send it: scheme://host, and :port if it isn't the scheme's own
  PRIMARY KEY (app_id, origin)
) STRICT, WITHOUT ROWID;
CREATE INDEX app_origins_by_origin ON app_origins (origin);
