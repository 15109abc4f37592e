-- 0059_tier_confinement.sql: how a tier's containers are kept apart from the node and from each other.

ALTER TABLE deploy_tiers ADD COLUMN runtime_class TEXT;  -- NULL: the cluster's default runtime
ALTER TABLE deploy_tiers ADD COLUMN user_namespaces INTEGER NOT NULL DEFAULT 0
  CHECK (user_namespaces IN (0, 1));
ALTER TABLE deploy_tiers ADD COLUMN smtp INTEGER NOT NULL DEFAULT 0 CHECK (smtp IN (0, 1));
ALTER TABLE deploy_tiers ADD COLUMN bandwidth_mbit INTEGER CHECK (bandwidth_mbit > 0);
