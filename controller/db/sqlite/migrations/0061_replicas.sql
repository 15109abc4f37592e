-- 0061_replicas.sql: the berthd on one database, and which of them runs which loop. Empty on SQLite, where there is one.

CREATE TABLE replicas (
  id        TEXT PRIMARY KEY,   -- of one run of the process
  beats     INTEGER NOT NULL,   -- rises each second; one that doesn't rise any more is a process that died
  beaten_at INTEGER NOT NULL
) STRICT;

-- Without a foreign key: a berthd whose row was removed by mistake beats again, and its loops have been taken by then.
CREATE TABLE loop_leases (
  name     TEXT PRIMARY KEY,
  owner_id TEXT NOT NULL,       -- of the berthd that runs it
  taken_at INTEGER NOT NULL
) STRICT;
