-- 0027_audit.sql: the audit log tells who did what, on whom and from where, of every operation that changes something.

ALTER TABLE audit_log ADD COLUMN number bigint;     -- its place in the chain; NULL: not yet in it
ALTER TABLE audit_log ADD COLUMN operation text COLLATE "C";     -- the operation's or form's name; NULL: as the action
ALTER TABLE audit_log ADD COLUMN target_kind text COLLATE "C";
ALTER TABLE audit_log ADD COLUMN app_id text COLLATE "C";        -- the app that it is about
ALTER TABLE audit_log ADD COLUMN user_id text COLLATE "C";       -- the person who acted, or for whom an app did
ALTER TABLE audit_log ADD COLUMN token_kind text COLLATE "C";
ALTER TABLE audit_log ADD COLUMN token_id text COLLATE "C";
ALTER TABLE audit_log ADD COLUMN network text COLLATE "C";       -- of the address from which it came
ALTER TABLE audit_log ADD COLUMN request_id text COLLATE "C";
ALTER TABLE audit_log ADD COLUMN salt text COLLATE "C";          -- of the commitment; NULL once something was erased
ALTER TABLE audit_log ADD COLUMN commitment text COLLATE "C";    -- set when something is erased
ALTER TABLE audit_log ADD COLUMN chain text COLLATE "C";         -- the hash of the chain up to this row, SHA-256 in hex
CREATE UNIQUE INDEX audit_log_by_number ON audit_log (number) WHERE number IS NOT NULL;
CREATE INDEX audit_log_to_chain ON audit_log (id) WHERE number IS NULL;
CREATE INDEX audit_log_by_user ON audit_log (user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX audit_log_by_app ON audit_log (app_id, id) WHERE app_id IS NOT NULL;
CREATE INDEX audit_log_by_network ON audit_log (network, id) WHERE network IS NOT NULL;

-- Places of the chain at which it can be checked from, and how it looked there.
CREATE TABLE audit_checkpoints (
  number bigint PRIMARY KEY,  -- of the last row before it
  chain  text COLLATE "C" NOT NULL,
  at     bigint NOT NULL
);
CREATE INDEX audit_checkpoints_by_time ON audit_checkpoints (at, number);
