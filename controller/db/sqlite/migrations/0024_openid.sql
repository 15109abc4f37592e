-- 0024_openid.sql: logins with OpenID Connect.

-- The login behind an authorization that includes the scope openid: the session in which the user allowed it, and when
-- they last proved who they are in it. NULL: the authorization doesn't include openid.
ALTER TABLE authorization_codes ADD COLUMN nonce TEXT;  -- for the ID token, until the code is used
ALTER TABLE authorization_codes ADD COLUMN session_id TEXT;
ALTER TABLE authorization_codes ADD COLUMN authenticated_at INTEGER;
ALTER TABLE token_families ADD COLUMN session_id TEXT;
ALTER TABLE token_families ADD COLUMN authenticated_at INTEGER;
CREATE INDEX token_families_of_session ON token_families (session_id)
  WHERE session_id IS NOT NULL AND revoked_at IS NULL;

-- What an app has set for OpenID Connect, if it has set anything.
CREATE TABLE openid_clients (
  app_id                    TEXT PRIMARY KEY REFERENCES apps (id),
  id_token_alg              TEXT NOT NULL CHECK (id_token_alg IN ('RS256', 'EdDSA')),
  post_logout_redirect_uris TEXT NOT NULL,  -- a JSON array
  backchannel_logout_uri    TEXT
) STRICT, WITHOUT ROWID;

-- Apps that have to be told that a session has ended (OpenID Connect Back-Channel Logout 1.0). A row goes once its app
-- was told.
CREATE TABLE logout_notices (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  app_id          TEXT NOT NULL REFERENCES apps (id),
  user_id         TEXT NOT NULL REFERENCES users (id),
  session_id      TEXT NOT NULL,
  live_until      INTEGER NOT NULL,  -- when the session would have ended by itself, of which nobody is told
  attempts        INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX logout_notices_due ON logout_notices (next_attempt_at, id);

-- Whatever ends a session tells the apps that were logged in to from it. The trigger doesn't know the time, so it also
-- writes rows for sessions that ended by themselves, which the loop drops.
CREATE TRIGGER sessions_to_apps AFTER DELETE ON sessions
WHEN EXISTS (SELECT 1 FROM token_families f WHERE f.session_id = OLD.id AND f.revoked_at IS NULL)
BEGIN
  INSERT INTO logout_notices (app_id, user_id, session_id, live_until)
  SELECT DISTINCT g.app_id, OLD.user_id, OLD.id,
         min(OLD.expires_at,
             coalesce(coalesce(OLD.last_used_at, OLD.created_at) + OLD.idle_timeout, OLD.expires_at))
  FROM token_families f
  JOIN grants g ON g.id = f.grant_id
  JOIN openid_clients o ON o.app_id = g.app_id
  WHERE f.session_id = OLD.id AND f.revoked_at IS NULL AND o.backchannel_logout_uri IS NOT NULL;
END;
