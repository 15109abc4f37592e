-- 0031_container_tokens.sql: containers prove which deployment they are of by a token of their cluster.
ALTER TABLE deployments ADD COLUMN identity INTEGER NOT NULL DEFAULT 0 CHECK (identity IN (0, 1));
ALTER TABLE deployment_revisions ADD COLUMN identity INTEGER NOT NULL DEFAULT 0;

-- What a container got for its token ends when its deployment is stopped (as a suspended one is) or deleted, or has no
-- identity any more. Such a family of tokens has a trust in the issuer berth, and is for that one deployment (its JSON has
-- no blanks). The + keeps SQLite from reading the trusts of all apps by the index of issuers.
CREATE TRIGGER container_tokens_end AFTER UPDATE OF status, identity ON deployments
WHEN OLD.identity = 1 AND (NEW.identity = 0 OR NEW.status IN ('stopped', 'destroyed'))
BEGIN
  UPDATE token_families
  SET revoked_at = NEW.updated_at
  WHERE trust_id IN (SELECT t.id FROM app_trusts t WHERE t.app_id = NEW.app_id AND +t.issuer = 'berth')
    AND deployments = '["' || NEW.id || '"]'
    AND revoked_at IS NULL;
END;
