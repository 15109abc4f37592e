-- 0016_exec.sql: berth's own client may ask for the scope deploy:exec, as it may for the others of an app's owner.
UPDATE apps
SET allowed_scopes = allowed_scopes || ' deploy:exec', approved_scopes = approved_scopes || ' deploy:exec'
WHERE built_in = 1;
