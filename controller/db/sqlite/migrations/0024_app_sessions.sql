-- 0024_app_sessions.sql: how far an app's session token (st_live_) goes, and who may refresh.

-- What the app decides for itself: whether it takes session tokens, and whether
-- POST /api/auth/refresh asks for its client credentials.
ALTER TABLE apps ADD COLUMN session_tokens INTEGER NOT NULL DEFAULT 1
  CHECK (session_tokens IN (0, 1));
ALTER TABLE apps ADD COLUMN refresh_requires_client INTEGER NOT NULL DEFAULT 0
  CHECK (refresh_requires_client IN (0, 1));

-- What the user allows the app's session tokens: to act as the user, or only to read.
ALTER TABLE grants ADD COLUMN session_access TEXT NOT NULL DEFAULT 'full'
  CHECK (session_access IN ('full', 'read'));

-- Whether the user was told of a session when the code was given. An app that starts to take
-- session tokens afterwards gets none for this code.
ALTER TABLE authorization_codes ADD COLUMN with_session INTEGER NOT NULL DEFAULT 1
  CHECK (with_session IN (0, 1));
