-- 0012_ads.sql: campaigns, what they served, and the marketplace. What is left of a campaign's
-- budget and what is reserved of it are balances of the ledger, not columns.

CREATE TABLE campaigns (
  id                 TEXT PRIMARY KEY,
  app_id             TEXT NOT NULL REFERENCES apps (id),
  owner_id           TEXT NOT NULL REFERENCES users (id),  -- of the app
  purchase_id        TEXT REFERENCES ad_package_purchases (id),
  name               TEXT NOT NULL,
  surface_type       TEXT NOT NULL CHECK (surface_type IN ('banner', 'video', 'interstitial', 'native', 'rewarded')),
  payout_rate        INTEGER NOT NULL CHECK (payout_rate BETWEEN 1 AND 9007199254740991),
  targeting_metadata TEXT,              -- a JSON object
  status             TEXT NOT NULL CHECK (status IN ('active', 'paused', 'exhausted', 'cancelled')),
  end_reason         TEXT CHECK (end_reason IN ('exhausted', 'cancelled', 'ended')),
  total_payment      INTEGER NOT NULL,  -- rake + budget
  rake               INTEGER NOT NULL,
  budget             INTEGER NOT NULL CHECK (budget <= 9007199254740991),
  spent              INTEGER NOT NULL DEFAULT 0 CHECK (spent BETWEEN 0 AND budget),
  refunded           INTEGER NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND budget),
  viewer_rewards     INTEGER NOT NULL DEFAULT 0 CHECK (viewer_rewards BETWEEN 0 AND rake),
  starts_at          INTEGER,
  ends_at            INTEGER,
  ended_at           INTEGER,
  inserted_at        INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  CHECK ((status IN ('active', 'paused')) = (end_reason IS NULL))
) STRICT;
CREATE INDEX campaigns_by_app ON campaigns (app_id, inserted_at);
CREATE INDEX campaigns_live ON campaigns (app_id) WHERE status IN ('active', 'paused');
CREATE INDEX campaigns_by_end ON campaigns (ends_at) WHERE status IN ('active', 'paused') AND ends_at IS NOT NULL;
CREATE INDEX campaigns_by_purchase ON campaigns (purchase_id) WHERE purchase_id IS NOT NULL;

-- One for each answer of serve: the first phase of an impression. It is open while nobody has used
-- it and its time isn't over.
CREATE TABLE ad_impressions (
  id                    TEXT PRIMARY KEY,  -- of the hold
  token_hash            TEXT NOT NULL UNIQUE,
  campaign_id           TEXT NOT NULL REFERENCES campaigns (id),
  campaign_placement_id TEXT REFERENCES campaign_placements (id),
  app_id                TEXT NOT NULL,
  user_id               TEXT NOT NULL,
  created_at            INTEGER NOT NULL,
  expires_at            INTEGER NOT NULL,
  used_at               INTEGER  -- an event has used it, paid or not
) STRICT;
CREATE INDEX ad_impressions_open_of_app ON ad_impressions (campaign_id, app_id, expires_at) WHERE used_at IS NULL;
CREATE INDEX ad_impressions_open_of_user ON ad_impressions (campaign_id, app_id, user_id, id) WHERE used_at IS NULL;
CREATE INDEX ad_impressions_open_of_placement ON ad_impressions (campaign_placement_id, expires_at)
  WHERE used_at IS NULL AND campaign_placement_id IS NOT NULL;
CREATE INDEX ad_impressions_unused ON ad_impressions (expires_at) WHERE used_at IS NULL;

-- Every report, paid or not. Counted: a paid impression, or a click after one.
CREATE TABLE ad_events (
  id                   TEXT PRIMARY KEY,
  campaign_id          TEXT NOT NULL REFERENCES campaigns (id),
  app_id               TEXT NOT NULL,
  user_id              TEXT NOT NULL,
  event_type           TEXT NOT NULL CHECK (event_type IN ('impression', 'click')),
  surface_type         TEXT NOT NULL,
  payout_rate_snapshot INTEGER NOT NULL,
  counted              INTEGER NOT NULL CHECK (counted IN (0, 1)),
  unpaid_reason        TEXT,
  viewer_reward        INTEGER NOT NULL DEFAULT 0,
  impression_id        TEXT REFERENCES ad_impressions (id),
  clicked_event_id     TEXT REFERENCES ad_events (id),  -- a click: the impression that it is of
  inserted_at          INTEGER NOT NULL,
  CHECK (counted = (unpaid_reason IS NULL))
) STRICT;
CREATE INDEX ad_events_by_campaign ON ad_events (campaign_id, inserted_at);
CREATE INDEX ad_events_seen ON ad_events (campaign_id, app_id, user_id, id)
  WHERE event_type = 'impression' AND counted = 1;
CREATE UNIQUE INDEX ad_events_by_impression ON ad_events (impression_id)
  WHERE event_type = 'impression' AND counted = 1 AND impression_id IS NOT NULL;
CREATE UNIQUE INDEX ad_events_one_click ON ad_events (clicked_event_id) WHERE clicked_event_id IS NOT NULL;

-- Sums of what is counted, by days since 1970 in UTC; written with the event.
CREATE TABLE ad_days (
  campaign_id TEXT NOT NULL REFERENCES campaigns (id),
  day         INTEGER NOT NULL,
  impressions INTEGER NOT NULL DEFAULT 0,
  clicks      INTEGER NOT NULL DEFAULT 0,
  spend       INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (campaign_id, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE ad_views (
  user_id     TEXT NOT NULL,
  day         INTEGER NOT NULL,
  campaign_id TEXT NOT NULL,
  impressions INTEGER NOT NULL,
  PRIMARY KEY (user_id, day, campaign_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ad_views_most ON ad_views (user_id, day, impressions);
CREATE INDEX ad_views_by_day ON ad_views (day);
CREATE TABLE ad_demand_days (
  surface_type TEXT NOT NULL,
  day          INTEGER NOT NULL,
  impressions  INTEGER NOT NULL,
  PRIMARY KEY (surface_type, day)
) STRICT, WITHOUT ROWID;

-- The market. Multipliers are in hundredths.
CREATE TABLE ad_rates (
  surface_type TEXT PRIMARY KEY,
  base_rate    INTEGER NOT NULL CHECK (base_rate BETWEEN 1 AND 1000000),
  floor_price  INTEGER NOT NULL CHECK (floor_price BETWEEN 1 AND base_rate),
  demand       INTEGER NOT NULL DEFAULT 100,
  popularity   INTEGER NOT NULL DEFAULT 100
) STRICT;
INSERT INTO ad_rates (surface_type, base_rate, floor_price) VALUES
  ('banner', 10, 5), ('native', 12, 6), ('interstitial', 20, 10), ('video', 25, 12), ('rewarded', 30, 15);

CREATE TABLE ad_placements (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  surface_type TEXT NOT NULL,
  app_id       TEXT REFERENCES apps (id),
  description  TEXT NOT NULL,
  is_active    INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  inserted_at  INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE ad_pricing (
  id              TEXT PRIMARY KEY,
  ad_placement_id TEXT NOT NULL REFERENCES ad_placements (id),
  base_rate       INTEGER NOT NULL,
  min_rate        INTEGER NOT NULL,
  max_rate        INTEGER NOT NULL,
  effective_from  INTEGER NOT NULL,
  effective_until INTEGER,
  inserted_at     INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX ad_pricing_by_placement ON ad_pricing (ad_placement_id, effective_from);

CREATE TABLE audience_segments (
  id          TEXT PRIMARY KEY,
  app_id      TEXT REFERENCES apps (id),  -- empty: everybody's
  name        TEXT NOT NULL,
  game_type   TEXT,
  play_tier   TEXT,
  geography   TEXT,
  metadata    TEXT,  -- a JSON object
  inserted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX audience_segments_by_app ON audience_segments (app_id, inserted_at);

CREATE TABLE ad_packages (
  id                  TEXT PRIMARY KEY,
  name                TEXT NOT NULL,
  description         TEXT,
  discount_percentage INTEGER NOT NULL CHECK (discount_percentage BETWEEN 0 AND 90),
  min_surfaces        INTEGER NOT NULL,
  min_impressions     INTEGER NOT NULL,
  is_active           INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  inserted_at         INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL
) STRICT;

CREATE TABLE ad_package_purchases (
  id              TEXT PRIMARY KEY,
  ad_package_id   TEXT NOT NULL REFERENCES ad_packages (id),
  app_id          TEXT NOT NULL REFERENCES apps (id),
  surfaces        TEXT NOT NULL,  -- a JSON array: surface_type, impressions, rate, discount, charged, campaign_id
  subtotal        INTEGER NOT NULL,
  discount_amount INTEGER NOT NULL,
  rake_amount     INTEGER NOT NULL,
  total_charged   INTEGER NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('completed', 'refunded')),
  inserted_at     INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX ad_package_purchases_by_app ON ad_package_purchases (app_id, inserted_at);

CREATE TABLE campaign_placements (
  id                    TEXT PRIMARY KEY,
  campaign_id           TEXT NOT NULL REFERENCES campaigns (id),
  ad_placement_id       TEXT NOT NULL REFERENCES ad_placements (id),
  allocated_budget      INTEGER NOT NULL,
  impressions_target    INTEGER NOT NULL CHECK (impressions_target >= 1),
  impressions_delivered INTEGER NOT NULL DEFAULT 0,
  status                TEXT NOT NULL CHECK (status IN ('active', 'paused', 'depleted')),
  removed_at            INTEGER,
  inserted_at           INTEGER NOT NULL,
  updated_at            INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX campaign_placements_once ON campaign_placements (campaign_id, ad_placement_id) WHERE removed_at IS NULL;

CREATE TABLE placement_segments (
  id                    TEXT PRIMARY KEY,
  campaign_placement_id TEXT NOT NULL REFERENCES campaign_placements (id),
  segment_type          TEXT NOT NULL CHECK (segment_type IN ('game_type', 'play_tier', 'geography')),
  segment_value         TEXT NOT NULL,
  match_mode            TEXT NOT NULL CHECK (match_mode IN ('exact', 'prefix', 'any')),
  inserted_at           INTEGER NOT NULL
) STRICT;
CREATE INDEX placement_segments_by_placement ON placement_segments (campaign_placement_id, inserted_at);
