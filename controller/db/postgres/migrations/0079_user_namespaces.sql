-- 0079_user_namespaces.sql: a tier that says nothing about user namespaces has them where the nodes can.

ALTER TABLE deploy_tiers ALTER COLUMN user_namespaces DROP NOT NULL, ALTER COLUMN user_namespaces DROP DEFAULT;
UPDATE deploy_tiers SET user_namespaces = NULL WHERE user_namespaces = 0;
