-- 0023_admin_roles.sql: what an admin may do, and internal secrets that admins make.

-- NULL: of an admin, the role admin. is_admin says whether somebody is one.
ALTER TABLE users ADD COLUMN admin_role TEXT CHECK (admin_role IN ('admin', 'support', 'finance'));
UPDATE users SET admin_role = 'admin' WHERE is_admin = 1;
CREATE INDEX users_admins ON users (registration_number) WHERE is_admin = 1;

CREATE TABLE internal_secrets (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,         -- the actor of the audit log; several may have the same
  secret_hash  TEXT NOT NULL UNIQUE,  -- SHA-256
  role         TEXT NOT NULL CHECK (role IN ('admin', 'support', 'finance')),
  made_by      TEXT NOT NULL,         -- as in the audit log
  inserted_at  INTEGER NOT NULL,
  expires_at   INTEGER,               -- NULL: when it is revoked
  last_used_at INTEGER                -- to within five minutes
) STRICT;
