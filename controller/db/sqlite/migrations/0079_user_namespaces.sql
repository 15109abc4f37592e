-- 0079_user_namespaces.sql: a tier that says nothing about user namespaces has them where the nodes can.

-- NULL: where all nodes can, and the tier has no runtime class. The earlier 0 was the default, which nobody had to
-- choose; containers that run keep what they have until their next rollout.

ALTER TABLE deploy_tiers RENAME COLUMN user_namespaces TO chosen_user_namespaces;
ALTER TABLE deploy_tiers ADD COLUMN user_namespaces INTEGER CHECK (user_namespaces IN (0, 1));
UPDATE deploy_tiers SET user_namespaces = 1 WHERE chosen_user_namespaces = 1;
ALTER TABLE deploy_tiers DROP COLUMN chosen_user_namespaces;
