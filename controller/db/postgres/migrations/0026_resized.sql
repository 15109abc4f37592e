-- 0026_resized.sql: how the newest change of a deployment's size came to its containers.
ALTER TABLE deployments ADD COLUMN resized text COLLATE "C" CHECK (resized IN ('in_place', 'rollout'));
