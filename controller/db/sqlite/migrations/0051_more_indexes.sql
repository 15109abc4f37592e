-- 0051_more_indexes.sql: indexes for statements that went through a whole table, or sorted what one
-- account or app had ever made. Partial indexes also have the columns of their conditions where
-- rows are only counted.

DROP INDEX email_tokens_by_user;
CREATE INDEX email_tokens_by_user ON email_tokens (user_id, purpose, created_at);
DROP INDEX outbox_waiting;
CREATE INDEX outbox_waiting ON outbox (next_attempt_at, created_at, sent_at, failed_at)
  WHERE sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX outbox_by_address ON outbox (to_address);

DROP INDEX token_families_by_grant;
CREATE INDEX token_families_by_grant ON token_families (grant_id, created_at, id);
CREATE INDEX token_families_living ON token_families (grant_id, created_at, id)
  WHERE revoked_at IS NULL;

CREATE INDEX grants_of_app ON grants (app_id, revoked_at) WHERE revoked_at IS NULL;

DROP INDEX deployments_by_owner;
CREATE INDEX deployments_by_owner ON deployments (owner_id, tier_id, inserted_at, id)
  WHERE status <> 'destroyed';
CREATE INDEX deployments_by_status ON deployments (status) WHERE status <> 'destroyed';
CREATE INDEX deployments_leaving_of ON deployments (owner_id)
  WHERE status = 'destroyed' AND removed_at IS NULL;
DROP INDEX deployment_tier_changes_of;
CREATE INDEX deployment_tier_changes_of ON deployment_tier_changes (deployment_id, at, id);

DROP INDEX custom_domains_of_deployment;
CREATE INDEX custom_domains_of_deployment
  ON custom_domains (deployment_id, claimed_at, released_at, id);
DROP INDEX custom_domains_due;
CREATE INDEX custom_domains_due ON custom_domains (next_check_at, deployment_id, released_at)
  WHERE released_at IS NULL;
CREATE INDEX custom_domains_leaving_of ON custom_domains (deployment_id, released_at)
  WHERE released_at IS NOT NULL AND removed_at IS NULL;
CREATE INDEX certificate_orders_failed ON certificate_orders (domain, ended_at)
  WHERE outcome = 'failed';

CREATE INDEX campaigns_active ON campaigns (id) WHERE status = 'active';
CREATE INDEX campaign_placements_by_placement
  ON campaign_placements (ad_placement_id, campaign_id) WHERE removed_at IS NULL;

DROP INDEX webhook_deliveries_due;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at, id, state)
  WHERE state = 'waiting';

-- The console's list of all deployments of a person.
CREATE INDEX deployments_of_owner ON deployments (owner_id, inserted_at, id)
  WHERE status <> 'destroyed';
