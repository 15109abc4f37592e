-- 0015_containers.sql: what a deployment has at most, all its containers together, for what it costs and for the quotas.
-- Every deployment so far has one container.
ALTER TABLE deployments ADD COLUMN most_containers INTEGER NOT NULL DEFAULT 1 CHECK (most_containers > 0);
ALTER TABLE deployments ADD COLUMN most_memory_mb INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deployments ADD COLUMN most_cpu_millicores INTEGER NOT NULL DEFAULT 0;
UPDATE deployments SET most_memory_mb = memory_limit_mb, most_cpu_millicores = cpu_limit_millicores;

-- How many containers a period, or the rest of one, was paid for. The amounts are those of all of them.
ALTER TABLE deployment_charges ADD COLUMN containers INTEGER NOT NULL DEFAULT 1;
ALTER TABLE deployment_tier_changes ADD COLUMN from_containers INTEGER NOT NULL DEFAULT 1;
ALTER TABLE deployment_tier_changes ADD COLUMN to_containers INTEGER NOT NULL DEFAULT 1;
