-- 0055_old_ad_events.sql: events of ads and what was served are removed after some time (ads/events.h).

-- Only what used a reservation and was paid for names it. SQLite looks here before it deletes a reservation, which an index
-- of some kinds of events doesn't serve: each deletion went through all events.
DROP INDEX ad_events_by_impression;
CREATE UNIQUE INDEX ad_events_by_impression ON ad_events (impression_id) WHERE impression_id IS NOT NULL;
-- Days of campaigns have rows of their own.
DROP INDEX ad_events_by_campaign;
CREATE INDEX ad_events_by_time ON ad_events (inserted_at);
CREATE INDEX ad_impressions_used ON ad_impressions (used_at) WHERE used_at IS NOT NULL;
