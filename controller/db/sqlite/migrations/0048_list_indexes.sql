-- 0048_list_indexes.sql: an index for each order and each filter that a list can be asked for, so
-- that a page costs the same wherever it is and however long the list has become.

DROP INDEX sessions_by_user;
CREATE INDEX sessions_by_user ON sessions (user_id, created_at, id);
CREATE INDEX grants_connected ON grants (user_id, connected_at, id)
  WHERE revoked_at IS NULL AND scopes <> '';
CREATE INDEX blocks_by_time ON blocks (blocker_id, created_at, blocked_id);
CREATE INDEX chat_channels_by_type ON chat_channels (type, id);
CREATE INDEX user_cosmetics_by_time ON user_cosmetics (user_id, acquired_at, id);
CREATE INDEX cosmetic_items_by_time ON cosmetic_items (inserted_at, id);

DROP INDEX scope_requests_by_app;
DROP INDEX scope_requests_by_status;
CREATE INDEX scope_requests_by_time ON scope_requests (inserted_at, id);
CREATE INDEX scope_requests_by_app ON scope_requests (app_id, inserted_at, id);
CREATE INDEX scope_requests_by_status ON scope_requests (status, inserted_at, id);
CREATE INDEX scope_requests_by_app_and_status ON scope_requests (app_id, status, inserted_at, id);

DROP INDEX apps_listed;
CREATE INDEX apps_public ON apps (inserted_at, id, listed, deleted_at, suspended_at)
  WHERE listed = 1 AND deleted_at IS NULL AND suspended_at IS NULL;
CREATE INDEX apps_owned ON apps (owner_id, inserted_at, id) WHERE deleted_at IS NULL;

CREATE INDEX users_living ON users (registration_number, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX users_by_address ON users (email_key, id, deleted_at) WHERE deleted_at IS NULL;
-- For the search of users and that of admins.
DROP INDEX users_searchable;
CREATE INDEX users_searchable ON users (username_key, id, username, deleted_at, suspended_at)
  WHERE deleted_at IS NULL;

DROP INDEX webhooks_by_app;
CREATE INDEX webhooks_by_app ON webhooks (app_id, created_at, id);
CREATE INDEX deployments_of_app ON deployments (app_id, inserted_at, id)
  WHERE status <> 'destroyed';

DROP INDEX campaigns_by_app;
CREATE INDEX campaigns_by_app ON campaigns (app_id, inserted_at, id);
DROP INDEX ad_package_purchases_by_app;
CREATE INDEX ad_package_purchases_by_app ON ad_package_purchases (app_id, inserted_at, id);
CREATE INDEX campaign_placements_in_order ON campaign_placements (campaign_id, inserted_at, id)
  WHERE removed_at IS NULL;
DROP INDEX ad_pricing_by_placement;
CREATE INDEX ad_pricing_by_placement ON ad_pricing (ad_placement_id, effective_from, id);
