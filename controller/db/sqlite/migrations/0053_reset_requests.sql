-- 0053_reset_requests.sql: who asks for a new password is answered later, by a loop, so that the time of the
-- request's answer doesn't tell whether the address has an account.

CREATE TABLE reset_requests (
  id       TEXT PRIMARY KEY,
  address  TEXT NOT NULL,  -- as it was typed; most likely, but not always, of an account
  asked_at INTEGER NOT NULL
) STRICT;
