-- 0005_creatives.sql: what an ad shows: title, text, picture and link. SQLite's file says what the columns mean.
ALTER TABLE campaigns ADD COLUMN creatives bigint NOT NULL DEFAULT 0 CHECK (creatives >= 0);
ALTER TABLE ad_impressions ADD COLUMN creative_id text COLLATE "C";

CREATE TABLE ad_creatives (
  id          text COLLATE "C" PRIMARY KEY,
  campaign_id text COLLATE "C" NOT NULL REFERENCES campaigns (id),
  title       text COLLATE "C" NOT NULL,
  text        text COLLATE "C",
  link        text COLLATE "C" NOT NULL,
  impressions bigint NOT NULL DEFAULT 0 CHECK (impressions >= 0),
  clicks      bigint NOT NULL DEFAULT 0 CHECK (clicks >= 0),
  removed_at  bigint,
  expires_at  bigint,
  inserted_at bigint NOT NULL,
  CHECK (removed_at IS NULL OR expires_at IS NOT NULL)
);
CREATE INDEX ad_creatives_by_campaign ON ad_creatives (campaign_id, id);
CREATE INDEX ad_creatives_expired ON ad_creatives (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE ad_pictures (
  creative_id  text COLLATE "C" PRIMARY KEY REFERENCES ad_creatives (id),
  owner_id     text COLLATE "C" NOT NULL REFERENCES users (id),
  content_type text COLLATE "C" NOT NULL CHECK (content_type IN ('image/png', 'image/jpeg')),
  width        bigint NOT NULL CHECK (width >= 1),
  height       bigint NOT NULL CHECK (height >= 1),
  bytes        bigint NOT NULL CHECK (bytes >= 1),
  content      text COLLATE "C" NOT NULL,
  expires_at   bigint
);
CREATE INDEX ad_pictures_of_owner ON ad_pictures (owner_id, bytes);
CREATE INDEX ad_pictures_expired ON ad_pictures (expires_at) WHERE expires_at IS NOT NULL;
