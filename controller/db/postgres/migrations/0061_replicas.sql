-- 0061_replicas.sql: the berthd on one database, and which of them runs which loop.

CREATE TABLE replicas (
  id        text COLLATE "C" PRIMARY KEY,  -- of one run of the process
  beats     bigint NOT NULL,               -- rises each second; one that doesn't rise any more is a process that died
  beaten_at bigint NOT NULL
);

-- Without a foreign key: a berthd whose row was removed by mistake beats again, and its loops have been taken by then.
CREATE TABLE loop_leases (
  name     text COLLATE "C" PRIMARY KEY,
  owner_id text COLLATE "C" NOT NULL,      -- of the berthd that runs it
  taken_at bigint NOT NULL
);
