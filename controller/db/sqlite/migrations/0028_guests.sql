-- 0028_guests.sql: guests, which are players whom an app has started without an address.

-- The app whose guest the account is; NULL: it isn't a guest. A guest has a negative registration number, because the
-- sign-up bonus depends on the others, and a username_key that no name has, so that no search finds them. Without a
-- foreign key, because apps already refer to users; an app's row is never removed.
ALTER TABLE users ADD COLUMN guest_of TEXT;
-- When a guest is looked at next: whether they can come back, and after their removal, whether the row can go, too.
-- NULL: never.
ALTER TABLE users ADD COLUMN guest_due_at INTEGER;
CREATE INDEX users_guests_due ON users (guest_due_at) WHERE guest_due_at IS NOT NULL;

-- How many guests there are, and how many were made on a day: of each app, and of all apps together.
CREATE TABLE guest_counts (
  subject TEXT PRIMARY KEY,  -- the id of an app, or 'all'
  living  INTEGER NOT NULL CHECK (living >= 0),
  day     INTEGER NOT NULL,  -- since 1970, in UTC
  made    INTEGER NOT NULL CHECK (made >= 0)
) STRICT, WITHOUT ROWID;

-- The row of a removed guest to whom nothing refers is deleted, which looks for such references in each table.
CREATE INDEX deployments_of_any_owner ON deployments (owner_id);
CREATE INDEX custom_domains_of_owner ON custom_domains (owner_id);
CREATE INDEX campaigns_of_owner ON campaigns (owner_id);
CREATE INDEX builds_by_initiator ON builds (initiated_by);
CREATE INDEX deployment_runs_of_owner ON deployment_runs (owner_id);
CREATE INDEX deployment_runs_by_creator ON deployment_runs (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX refundable_spends_of_user ON refundable_spends (user_id);

-- Guests aren't found by parts of their names, so no such parts are stored.
DROP TRIGGER username_suffixes_appear;
CREATE TRIGGER username_suffixes_appear AFTER INSERT ON users
  WHEN NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL AND NEW.guest_of IS NULL
BEGIN
  INSERT INTO username_suffixes (suffix, user_id, username)
    SELECT substr(NEW.username_key, position), NEW.id, NEW.username FROM suffix_positions
    WHERE position < length(NEW.username_key);
END;
DROP TRIGGER username_suffixes_change;
CREATE TRIGGER username_suffixes_change
AFTER UPDATE OF username, username_key, deleted_at, suspended_at ON users
BEGIN
  DELETE FROM username_suffixes WHERE user_id = OLD.id
    AND suffix IN (SELECT substr(OLD.username_key, position) FROM suffix_positions);
  INSERT INTO username_suffixes (suffix, user_id, username)
    SELECT substr(NEW.username_key, position), NEW.id, NEW.username FROM suffix_positions
    WHERE position < length(NEW.username_key)
      AND NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL AND NEW.guest_of IS NULL;
END;
