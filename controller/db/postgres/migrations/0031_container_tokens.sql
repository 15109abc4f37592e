-- 0031_container_tokens.sql: tokens of containers; SQLite's file says what the columns and the trigger mean.
ALTER TABLE deployments ADD COLUMN identity bigint NOT NULL DEFAULT 0 CHECK (identity IN (0, 1));
ALTER TABLE deployment_revisions ADD COLUMN identity bigint NOT NULL DEFAULT 0;
CREATE FUNCTION container_tokens_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE token_families
  SET revoked_at = NEW.updated_at
  WHERE trust_id IN (SELECT t.id FROM app_trusts t WHERE t.app_id = NEW.app_id AND t.issuer = 'berth')
    AND deployments = '["' || NEW.id || '"]'
    AND revoked_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER container_tokens_end AFTER UPDATE OF status, identity ON deployments
FOR EACH ROW WHEN (OLD.identity = 1 AND (NEW.identity = 0 OR NEW.status IN ('stopped', 'destroyed')))
EXECUTE FUNCTION container_tokens_end();
