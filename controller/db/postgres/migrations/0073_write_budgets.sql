-- 0073_write_budgets.sql: how much accounts and networks have stored on a day, and long answers that can be repeated.

-- Only counts that are a good part of their budget are here; the others are in memory.
CREATE TABLE write_counts (
  day          bigint NOT NULL,  -- since 1970, in UTC
  subject_hash text COLLATE "C" NOT NULL,  -- an HMAC with the data key of an account or network, and of what it stores
  bytes        bigint NOT NULL,
  row_count    bigint NOT NULL,
  PRIMARY KEY (day, subject_hash)
);

-- The body of an answer that is too long to be kept once for each Idempotency-Key. The keys name its hash.
CREATE TABLE idempotency_bodies (
  principal text COLLATE "C" NOT NULL,  -- as in idempotency_keys
  body_hash text COLLATE "C" NOT NULL,
  body      text COLLATE "C" NOT NULL,
  used_at   bigint NOT NULL,  -- when the newest key got it
  PRIMARY KEY (principal, body_hash)
);
CREATE INDEX idempotency_bodies_by_time ON idempotency_bodies (used_at);
