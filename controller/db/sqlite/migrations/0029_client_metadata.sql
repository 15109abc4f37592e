-- 0029_client_metadata.sql: clients that nobody has registered, whose client_id is the URL of a document.

-- When such a client is forgotten, with its consents and tokens; NULL: somebody has registered the app.
ALTER TABLE apps ADD COLUMN unregistered_until INTEGER;
CREATE INDEX apps_unregistered ON apps (unregistered_until) WHERE unregistered_until IS NOT NULL;
