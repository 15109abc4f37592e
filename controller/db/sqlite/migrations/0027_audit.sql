-- 0027_audit.sql: the audit log tells who did what, on whom and from where, of every operation that changes something.

ALTER TABLE audit_log ADD COLUMN number INTEGER;     -- its place in the chain; NULL: not yet in it
ALTER TABLE audit_log ADD COLUMN operation TEXT;     -- the operation's or form's name; NULL: as the action
ALTER TABLE audit_log ADD COLUMN target_kind TEXT;
ALTER TABLE audit_log ADD COLUMN app_id TEXT;        -- the app that it is about
ALTER TABLE audit_log ADD COLUMN user_id TEXT;       -- the person who acted, or for whom an app did
ALTER TABLE audit_log ADD COLUMN token_kind TEXT;
ALTER TABLE audit_log ADD COLUMN token_id TEXT;
ALTER TABLE audit_log ADD COLUMN network TEXT;       -- of the address from which it came
ALTER TABLE audit_log ADD COLUMN request_id TEXT;
ALTER TABLE audit_log ADD COLUMN salt TEXT;          -- of the commitment; NULL once something was erased
ALTER TABLE audit_log ADD COLUMN commitment TEXT;    -- set when something is erased
ALTER TABLE audit_log ADD COLUMN chain TEXT;         -- the hash of the chain up to this row, SHA-256 in hex
CREATE UNIQUE INDEX audit_log_by_number ON audit_log (number) WHERE number IS NOT NULL;
CREATE INDEX audit_log_to_chain ON audit_log (id) WHERE number IS NULL;
CREATE INDEX audit_log_by_user ON audit_log (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX audit_log_by_app ON audit_log (app_id, id) WHERE app_id IS NOT NULL;
CREATE INDEX audit_log_by_network ON audit_log (network, id) WHERE network IS NOT NULL;

-- Places of the chain at which it can be checked from, and how it looked there.
CREATE TABLE audit_checkpoints (
  number INTEGER PRIMARY KEY,  -- of the last row before it
  chain  TEXT NOT NULL,
  at     INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_checkpoints_by_time ON audit_checkpoints (at, number);
