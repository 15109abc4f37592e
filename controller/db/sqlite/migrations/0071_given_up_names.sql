-- 0071_given_up_names.sql: names of users and apps that were given up stay reserved for 90 days.

CREATE TABLE given_up_names (
  kind        TEXT NOT NULL CHECK (kind IN ('user', 'app')),
  name_hash   TEXT NOT NULL,  -- SHA-256: the name goes with the account
  owner_id    TEXT,           -- who may take it back; NULL: nobody, the account was deleted
  given_up_at INTEGER NOT NULL,
  PRIMARY KEY (kind, name_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX given_up_names_by_time ON given_up_names (given_up_at);
CREATE INDEX given_up_names_by_owner ON given_up_names (owner_id, kind, given_up_at);
