-- 0023_admin_roles.sql: what an admin may do, and internal secrets that admins make.
ALTER TABLE users ADD COLUMN admin_role text COLLATE "C" CHECK (admin_role IN ('admin', 'support', 'finance'));
UPDATE users SET admin_role = 'admin' WHERE is_admin = 1;
CREATE INDEX users_admins ON users (registration_number) WHERE is_admin = 1;
CREATE TABLE internal_secrets (
  id           text COLLATE "C" PRIMARY KEY,
  name         text COLLATE "C" NOT NULL,
  secret_hash  text COLLATE "C" NOT NULL UNIQUE,
  role         text COLLATE "C" NOT NULL CHECK (role IN ('admin', 'support', 'finance')),
  made_by      text COLLATE "C" NOT NULL,
  inserted_at  bigint NOT NULL,
  expires_at   bigint,
  last_used_at bigint
);
