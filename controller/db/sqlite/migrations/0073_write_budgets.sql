-- 0073_write_budgets.sql: how much accounts and networks have stored on a day, and long answers that can be repeated.

-- Only counts that are a good part of their budget are here; the others are in memory.
CREATE TABLE write_counts (
  day          INTEGER NOT NULL,  -- since 1970, in UTC
  subject_hash TEXT NOT NULL,  -- an HMAC with the data key of an account or network, and of what it stores
  bytes        INTEGER NOT NULL,
  row_count    INTEGER NOT NULL,
  PRIMARY KEY (day, subject_hash)
) STRICT, WITHOUT ROWID;

-- The body of an answer that is too long to be kept once for each Idempotency-Key. The keys name its hash.
CREATE TABLE idempotency_bodies (
  principal TEXT NOT NULL,  -- as in idempotency_keys
  body_hash TEXT NOT NULL,
  body      TEXT NOT NULL,
  used_at   INTEGER NOT NULL,  -- when the newest key got it
  PRIMARY KEY (principal, body_hash)
) STRICT;
CREATE INDEX idempotency_bodies_by_time ON idempotency_bodies (used_at);
