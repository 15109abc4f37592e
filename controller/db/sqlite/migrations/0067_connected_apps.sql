-- 0067_connected_apps.sql: how many apps a user has connected, which was counted for each answer.

CREATE TABLE user_apps (
  user_id TEXT PRIMARY KEY REFERENCES users (id),
  apps    INTEGER NOT NULL CHECK (apps >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO user_apps (user_id, apps)
  SELECT user_id, count(*) FROM grants WHERE revoked_at IS NULL AND scopes <> '' GROUP BY user_id;

CREATE TRIGGER grants_begin AFTER INSERT ON grants
WHEN NEW.revoked_at IS NULL AND NEW.scopes <> ''
BEGIN
  INSERT OR IGNORE INTO user_apps (user_id, apps) VALUES (NEW.user_id, 0);
  UPDATE user_apps SET apps = apps + 1 WHERE user_id = NEW.user_id;
END;
CREATE TRIGGER grants_change AFTER UPDATE OF revoked_at, scopes ON grants
WHEN (NEW.revoked_at IS NULL AND NEW.scopes <> '') <> (OLD.revoked_at IS NULL AND OLD.scopes <> '')
BEGIN
  INSERT OR IGNORE INTO user_apps (user_id, apps) VALUES (NEW.user_id, 0);
  UPDATE user_apps
  SET apps = apps + CASE WHEN NEW.revoked_at IS NULL AND NEW.scopes <> '' THEN 1 ELSE -1 END
  WHERE user_id = NEW.user_id;
END;
CREATE TRIGGER grants_end AFTER DELETE ON grants
WHEN OLD.revoked_at IS NULL AND OLD.scopes <> ''
BEGIN
  UPDATE user_apps SET apps = apps - 1 WHERE user_id = OLD.user_id;
END;
