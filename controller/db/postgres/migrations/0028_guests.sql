-- 0028_guests.sql: guests, which are players whom an app has started without an address.
ALTER TABLE users ADD COLUMN guest_of text COLLATE "C";
ALTER TABLE users ADD COLUMN guest_due_at bigint;
CREATE INDEX users_guests_due ON users (guest_due_at) WHERE guest_due_at IS NOT NULL;
CREATE TABLE guest_counts (
  subject text COLLATE "C" PRIMARY KEY,
  living  bigint NOT NULL CHECK (living >= 0),
  day     bigint NOT NULL,
  made    bigint NOT NULL CHECK (made >= 0)
);
CREATE INDEX deployments_of_any_owner ON deployments (owner_id);
CREATE INDEX custom_domains_of_owner ON custom_domains (owner_id);
CREATE INDEX campaigns_of_owner ON campaigns (owner_id);
CREATE INDEX builds_by_initiator ON builds (initiated_by);
CREATE INDEX deployment_runs_of_owner ON deployment_runs (owner_id);
CREATE INDEX deployment_runs_by_creator ON deployment_runs (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX refundable_spends_of_user ON refundable_spends (user_id);
DROP TRIGGER username_suffixes_appear ON users;
CREATE TRIGGER username_suffixes_appear AFTER INSERT ON users
FOR EACH ROW WHEN (NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL AND NEW.guest_of IS NULL)
EXECUTE FUNCTION username_suffixes_appear();
CREATE OR REPLACE FUNCTION username_suffixes_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM username_suffixes WHERE user_id = OLD.id
    AND suffix IN (SELECT substr(OLD.username_key, position::integer) FROM suffix_positions);
  INSERT INTO username_suffixes (suffix, user_id, username)
  SELECT substr(NEW.username_key, position::integer), NEW.id, NEW.username FROM suffix_positions
  WHERE position < length(NEW.username_key) AND NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL
    AND NEW.guest_of IS NULL;
  RETURN NULL;
END $$;
