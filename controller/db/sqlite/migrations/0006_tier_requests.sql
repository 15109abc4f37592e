-- 0006_tier_requests.sql: a request of an app's owner may ask for a deploy tier, too, beside scopes or without any. The
-- column has the tier's slug, and nothing refers to the tier: it may be gone when the request is decided.
ALTER TABLE scope_requests ADD COLUMN tier TEXT;
