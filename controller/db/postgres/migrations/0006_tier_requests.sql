-- 0006_tier_requests.sql: a request of an app's owner may ask for a deploy tier, too.
ALTER TABLE scope_requests
  ADD COLUMN tier text COLLATE "C";
