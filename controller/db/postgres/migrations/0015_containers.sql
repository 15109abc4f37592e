-- 0015_containers.sql: what a deployment has at most, all its containers together, for what it costs and for the quotas.
-- Every deployment so far has one container.
ALTER TABLE deployments
  ADD COLUMN most_containers     bigint NOT NULL DEFAULT 1 CHECK (most_containers > 0),
  ADD COLUMN most_memory_mb      bigint NOT NULL DEFAULT 0,
  ADD COLUMN most_cpu_millicores bigint NOT NULL DEFAULT 0;
UPDATE deployments SET most_memory_mb = memory_limit_mb, most_cpu_millicores = cpu_limit_millicores;
ALTER TABLE deployment_charges
  ADD COLUMN containers bigint NOT NULL DEFAULT 1;
ALTER TABLE deployment_tier_changes
  ADD COLUMN from_containers bigint NOT NULL DEFAULT 1,
  ADD COLUMN to_containers   bigint NOT NULL DEFAULT 1;
