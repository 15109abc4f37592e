-- 0027_name_history.sql: who ever had a sub-domain or a custom domain.

-- One row for each name that was ever used, for ever: a CNAME that its owner forgot may stay as
-- long. However often a name changes hands, it stays one row (some 100 bytes).
CREATE TABLE used_names (
  name_hash TEXT PRIMARY KEY,  -- HMAC with the data key: a name may say who had it
  owner_id  TEXT               -- the only user who ever had it; NULL: several did
) STRICT, WITHOUT ROWID;

-- Why a claim needs the TXT record; NULL: it needs none.
ALTER TABLE custom_domains ADD COLUMN txt_reason TEXT
  CHECK (txt_reason IN ('apex', 'domain_used_before', 'name_used_before'));
CREATE INDEX deployments_of_any_time ON deployments (name, owner_id);
UPDATE custom_domains SET txt_reason = CASE
  WHEN is_apex = 1 THEN 'apex'
  WHEN needs_txt = 1 OR EXISTS (
    SELECT 1 FROM custom_domains c
    WHERE c.domain = custom_domains.domain AND c.owner_id <> custom_domains.owner_id
  ) THEN 'domain_used_before'
  WHEN EXISTS (
    SELECT 1 FROM deployments mine
    JOIN deployments other ON other.name = mine.name AND other.owner_id <> mine.owner_id
    WHERE mine.id = custom_domains.deployment_id
  ) THEN 'name_used_before'
END
WHERE released_at IS NULL;
DROP INDEX deployments_of_any_time;
ALTER TABLE custom_domains DROP COLUMN needs_txt;
