-- 0028_returning_users.sql: a deleted account's address is no new person's for a year.

CREATE TABLE deleted_addresses (
  address_hash TEXT PRIMARY KEY,  -- HMAC with the data key: addresses can be guessed
  deleted_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_addresses_by_time ON deleted_addresses (deleted_at);

-- Signed up within that year: neither the user nor who brought them gets anything for it.
ALTER TABLE users ADD COLUMN is_returning INTEGER NOT NULL DEFAULT 0 CHECK (is_returning IN (0, 1));
