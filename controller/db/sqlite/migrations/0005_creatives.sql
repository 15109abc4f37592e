-- 0005_creatives.sql: what an ad shows: title, text, picture and link. A campaign has any number of them, in turn.

-- How many creatives the campaign has that aren't removed.
ALTER TABLE campaigns ADD COLUMN creatives INTEGER NOT NULL DEFAULT 0 CHECK (creatives >= 0);
-- The creative that was served, whose link a click leads to. Its row may be gone.
ALTER TABLE ad_impressions ADD COLUMN creative_id TEXT;

-- A creative never changes, so that its picture can be cached for ever. It is removed by its owner or by an admin; the row
-- stays until no impression can name it any more.
CREATE TABLE ad_creatives (
  id          TEXT PRIMARY KEY,  -- a UUIDv7
  campaign_id TEXT NOT NULL REFERENCES campaigns (id),
  title       TEXT NOT NULL,
  text        TEXT,
  link        TEXT NOT NULL,
  impressions INTEGER NOT NULL DEFAULT 0 CHECK (impressions >= 0),  -- paid ones
  clicks      INTEGER NOT NULL DEFAULT 0 CHECK (clicks >= 0),       -- counted ones
  removed_at  INTEGER,
  expires_at  INTEGER,  -- set once it is removed, or its campaign has ended
  inserted_at INTEGER NOT NULL,
  CHECK (removed_at IS NULL OR expires_at IS NOT NULL)
) STRICT;
CREATE INDEX ad_creatives_by_campaign ON ad_creatives (campaign_id, id);
CREATE INDEX ad_creatives_expired ON ad_creatives (expires_at) WHERE expires_at IS NOT NULL;

-- The picture of a creative, in base64. It goes earlier than the creative's row.
CREATE TABLE ad_pictures (
  creative_id  TEXT PRIMARY KEY REFERENCES ad_creatives (id),
  owner_id     TEXT NOT NULL REFERENCES users (id),  -- of the campaign's app: all pictures of an owner have a limit
  content_type TEXT NOT NULL CHECK (content_type IN ('image/png', 'image/jpeg')),
  width        INTEGER NOT NULL CHECK (width >= 1),
  height       INTEGER NOT NULL CHECK (height >= 1),
  bytes        INTEGER NOT NULL CHECK (bytes >= 1),
  content      TEXT NOT NULL,
  expires_at   INTEGER
) STRICT;
CREATE INDEX ad_pictures_of_owner ON ad_pictures (owner_id, bytes);
CREATE INDEX ad_pictures_expired ON ad_pictures (expires_at) WHERE expires_at IS NOT NULL;
