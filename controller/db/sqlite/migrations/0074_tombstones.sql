-- 0074_tombstones.sql: what was deleted keeps what receipts need, and nothing else.

-- Deleted apps whose campaigns, segments and requests for scopes still say something.
CREATE TABLE app_erasures (
  app_id TEXT PRIMARY KEY REFERENCES apps (id)
) STRICT, WITHOUT ROWID;
INSERT INTO app_erasures (app_id) SELECT id FROM apps WHERE deleted_at IS NOT NULL;
UPDATE apps
SET app_name = '', app_description = '', logo_url = NULL, website_url = NULL, redirect_uris = '[]',
    client_secret_hash = '', previous_secret_hash = NULL
WHERE deleted_at IS NOT NULL;

-- The cluster needs neither variables nor credentials to remove a deployment.
UPDATE deployments
SET env_keys = '[]', env_sealed = '', credentials_sealed = NULL, health_path = NULL
WHERE status = 'destroyed';
DELETE FROM deployment_revisions
WHERE deployment_id IN (SELECT id FROM deployments WHERE status = 'destroyed');
-- Those of deleted accounts lose their name as well, the others only their remaining texts, some weeks later.
DROP INDEX deployments_to_erase;
CREATE INDEX deployments_to_erase ON deployments (owner_id)
  WHERE status = 'destroyed' AND removed_at IS NOT NULL AND name <> '';
CREATE INDEX deployments_by_removal ON deployments (removed_at) WHERE status = 'destroyed' AND image <> '';
CREATE INDEX custom_domains_by_removal ON custom_domains (removed_at) WHERE removed_at IS NOT NULL;

DELETE FROM placement_segments
WHERE campaign_placement_id IN (SELECT id FROM campaign_placements WHERE removed_at IS NOT NULL);
DROP INDEX campaigns_to_erase;
CREATE INDEX campaigns_to_erase ON campaigns (app_id) WHERE status IN ('exhausted', 'cancelled') AND name <> '';
