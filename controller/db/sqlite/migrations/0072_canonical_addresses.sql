-- 0072_canonical_addresses.sql: one form for all spellings of an address, and changing the address of an account.

-- Whether email_key is in the canonical form (base/mail_address.h). What has letters beyond ASCII is converted when
-- berthd starts; where two accounts turn out to have one address, the newer one keeps its present key.
ALTER TABLE users ADD COLUMN email_is_canonical INTEGER NOT NULL DEFAULT 1 CHECK (email_is_canonical IN (0, 1));
UPDATE users SET email_is_canonical = 0 WHERE length(CAST(email AS BLOB)) <> length(email);
CREATE INDEX users_to_convert ON users (registration_number) WHERE email_is_canonical = 0;

-- Requests for another address, for a week: so long the old one can undo the change.
CREATE TABLE email_changes (
  stop_hash    TEXT PRIMARY KEY,      -- of the token that was mailed to the old address
  confirm_hash TEXT UNIQUE,           -- of the token that was mailed to the new one; NULL: used or withdrawn
  user_id      TEXT NOT NULL REFERENCES users (id),
  old_email    TEXT NOT NULL,
  old_key      TEXT NOT NULL,         -- nobody else may take it meanwhile
  old_verified INTEGER NOT NULL CHECK (old_verified IN (0, 1)),
  new_email    TEXT NOT NULL,
  asked_at     INTEGER NOT NULL,
  confirmed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX email_changes_by_user ON email_changes (user_id, asked_at);
CREATE INDEX email_changes_by_old_key ON email_changes (old_key);
CREATE INDEX email_changes_by_time ON email_changes (asked_at);
