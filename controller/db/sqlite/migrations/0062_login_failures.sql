-- 0062_login_failures.sql: failed logins, counted for all berthd on one database.

-- Empty on SQLite, where one berthd counts in memory.
CREATE TABLE login_failures (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  key_hash  TEXT NOT NULL,  -- an HMAC with a key that comes from the data key
  failed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX login_failures_by_key ON login_failures (key_hash, failed_at);
CREATE INDEX login_failures_by_time ON login_failures (failed_at);
