-- 0067_connected_apps.sql: how many apps a user has connected, which was counted for each answer.

CREATE TABLE user_apps (
  user_id text COLLATE "C" PRIMARY KEY REFERENCES users (id),
  apps    bigint NOT NULL CHECK (apps >= 0)
);
INSERT INTO user_apps (user_id, apps)
  SELECT user_id, count(*) FROM grants WHERE revoked_at IS NULL AND scopes <> '' GROUP BY user_id;

-- Adds the argument to the number of the user's apps.
CREATE FUNCTION count_user_apps(of_user text, change bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO user_apps (user_id, apps) VALUES (of_user, 0) ON CONFLICT DO NOTHING;
  UPDATE user_apps SET apps = apps + change WHERE user_id = of_user;
END $$;

CREATE FUNCTION grants_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_user_apps(NEW.user_id, 1);
  RETURN NULL;
END $$;
CREATE TRIGGER grants_begin AFTER INSERT ON grants
FOR EACH ROW WHEN (NEW.revoked_at IS NULL AND NEW.scopes <> '')
EXECUTE FUNCTION grants_begin();

CREATE FUNCTION grants_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_user_apps(
    NEW.user_id, CASE WHEN NEW.revoked_at IS NULL AND NEW.scopes <> '' THEN 1 ELSE -1 END);
  RETURN NULL;
END $$;
CREATE TRIGGER grants_change AFTER UPDATE OF revoked_at, scopes ON grants
FOR EACH ROW
WHEN ((NEW.revoked_at IS NULL AND NEW.scopes <> '') <> (OLD.revoked_at IS NULL AND OLD.scopes <> ''))
EXECUTE FUNCTION grants_change();

CREATE FUNCTION grants_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_user_apps(OLD.user_id, -1);
  RETURN NULL;
END $$;
CREATE TRIGGER grants_end AFTER DELETE ON grants
FOR EACH ROW WHEN (OLD.revoked_at IS NULL AND OLD.scopes <> '')
EXECUTE FUNCTION grants_end();
