-- 0001_samples.sql: what deployments used, in a file of its own beside berth's database.
-- The rows of all deployments for a quarter of an hour, or for a day, lie together: a sample of all of them changes few
-- pages, and what is too old is deleted from one end.

CREATE TABLE series (
  number     INTEGER PRIMARY KEY,
  deployment TEXT NOT NULL UNIQUE,
  last_day   INTEGER NOT NULL  -- since 1970, UTC
) STRICT;
CREATE INDEX series_by_last_day ON series (last_day);

CREATE TABLE minutes (
  slot   INTEGER NOT NULL,  -- quarters of an hour since 1970
  series INTEGER NOT NULL,
  part   INTEGER NOT NULL,  -- the minute of the quarter
  cpu          INTEGER,
  memory       INTEGER,
  replicas     INTEGER,
  restarts     INTEGER,
  requests_2xx INTEGER,
  requests_3xx INTEGER,
  requests_4xx INTEGER,
  requests_5xx INTEGER,
  latency_p50  INTEGER,
  latency_p95  INTEGER,
  latency_p99  INTEGER,
  PRIMARY KEY (slot, series, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE quarters (
  slot   INTEGER NOT NULL,  -- days since 1970
  series INTEGER NOT NULL,
  part   INTEGER NOT NULL,  -- the quarter of an hour of the day
  cpu          INTEGER,
  memory       INTEGER,
  replicas     INTEGER,
  restarts     INTEGER,
  requests_2xx INTEGER,
  requests_3xx INTEGER,
  requests_4xx INTEGER,
  requests_5xx INTEGER,
  latency_p50  INTEGER,
  latency_p95  INTEGER,
  latency_p99  INTEGER,
  PRIMARY KEY (slot, series, part)
) STRICT, WITHOUT ROWID;
