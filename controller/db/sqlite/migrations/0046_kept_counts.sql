-- 0046_kept_counts.sql: counts and sums that were computed for each answer.

ALTER TABLE users ADD COLUMN direct_referrals INTEGER NOT NULL DEFAULT 0
  CHECK (direct_referrals >= 0);
UPDATE users
SET direct_referrals = (SELECT count(*) FROM users r WHERE r.referred_by = users.id)
WHERE id IN (SELECT r.referred_by FROM users r WHERE r.referred_by IS NOT NULL);

-- How many users have a consent to the app at present.
CREATE TABLE app_users (
  app_id TEXT PRIMARY KEY REFERENCES apps (id),
  users  INTEGER NOT NULL CHECK (users >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO app_users (app_id, users)
  SELECT app_id, count(*) FROM grants WHERE revoked_at IS NULL AND scopes <> '' GROUP BY app_id;

-- For the numbers of users who came or were active lately.
CREATE INDEX grants_by_app_connection ON grants (app_id, connected_at) WHERE scopes <> '';
CREATE INDEX grants_by_app_use ON grants (app_id, coalesce(last_used_at, connected_at), connected_at)
  WHERE scopes <> '';

-- What the viewers of a campaign got on a day.
ALTER TABLE ad_days ADD COLUMN viewer_rewards INTEGER NOT NULL DEFAULT 0;
UPDATE ad_days
SET viewer_rewards = coalesce((
  SELECT sum(e.viewer_reward)
  FROM ad_events e
  WHERE e.campaign_id = ad_days.campaign_id AND e.counted = 1
    AND e.inserted_at >= ad_days.day * 86400000
    AND e.inserted_at < (ad_days.day + 1) * 86400000), 0);
