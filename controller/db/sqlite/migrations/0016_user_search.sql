-- 0016_user_search.sql: the indexes of user search hold what an answer says. Looking it up in users
-- took a page from somewhere in the table for each user found, and that is what grew with them.

DROP TRIGGER username_suffixes_appear;
DROP TRIGGER username_suffixes_change;
DROP TABLE username_suffixes;
DROP INDEX users_searchable;

CREATE INDEX users_searchable ON users (username_key, id, username)
  WHERE deleted_at IS NULL AND suspended_at IS NULL;
CREATE TABLE username_suffixes (
  suffix   TEXT NOT NULL,
  user_id  TEXT NOT NULL,
  username TEXT NOT NULL,
  PRIMARY KEY (suffix, user_id)
) STRICT, WITHOUT ROWID;
INSERT INTO username_suffixes (suffix, user_id, username)
  SELECT substr(username_key, position) AS suffix, id, username FROM users, suffix_positions
  WHERE position < length(username_key) AND deleted_at IS NULL AND suspended_at IS NULL
  ORDER BY suffix, id;
CREATE TRIGGER username_suffixes_appear AFTER INSERT ON users
  WHEN NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL
BEGIN
  INSERT INTO username_suffixes (suffix, user_id, username)
    SELECT substr(NEW.username_key, position), NEW.id, NEW.username FROM suffix_positions
    WHERE position < length(NEW.username_key);
END;
-- One trigger for both: SQLite doesn't say in which order two of them run.
CREATE TRIGGER username_suffixes_change
AFTER UPDATE OF username, username_key, deleted_at, suspended_at ON users
BEGIN
  DELETE FROM username_suffixes WHERE user_id = OLD.id
    AND suffix IN (SELECT substr(OLD.username_key, position) FROM suffix_positions);
  INSERT INTO username_suffixes (suffix, user_id, username)
    SELECT substr(NEW.username_key, position), NEW.id, NEW.username FROM suffix_positions
    WHERE position < length(NEW.username_key)
      AND NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL;
END;
