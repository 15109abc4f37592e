-- 0015_items.sql: avatars, what they can wear, and learning modules.

CREATE TABLE cosmetic_items (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  description  TEXT,
  -- Stays as it is: an avatar wears one item of each.
  category     TEXT NOT NULL CHECK (category IN
    ('hat', 'hair', 'top', 'bottom', 'shoes', 'accessory', 'background', 'frame', 'emote')),
  rarity       TEXT NOT NULL CHECK (rarity IN ('common', 'uncommon', 'rare', 'legendary')),
  asset_url    TEXT,
  price_points INTEGER NOT NULL CHECK (price_points BETWEEN 0 AND 9007199254740991),
  available    INTEGER NOT NULL CHECK (available IN (0, 1)),
  inserted_at  INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX cosmetic_items_by_category ON cosmetic_items (category, id);

-- An item is owned once, whatever two purchases at a time see.
CREATE TABLE user_cosmetics (
  id           TEXT PRIMARY KEY,
  user_id      TEXT NOT NULL REFERENCES users (id),
  item_id      TEXT NOT NULL REFERENCES cosmetic_items (id),
  acquired_at  INTEGER NOT NULL,
  acquired_via TEXT NOT NULL CHECK (acquired_via IN ('purchase', 'gift', 'achievement', 'promotion')),
  UNIQUE (user_id, item_id)
) STRICT;

CREATE TABLE avatars (
  id           TEXT PRIMARY KEY,
  user_id      TEXT NOT NULL UNIQUE REFERENCES users (id),
  display_name TEXT,
  appearance   TEXT NOT NULL DEFAULT '{}',  -- a JSON object, the apps' own
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT;

-- Nobody wears what he doesn't own, nor two of a category.
CREATE TABLE equipped_cosmetics (
  user_id  TEXT NOT NULL,
  category TEXT NOT NULL,
  item_id  TEXT NOT NULL,
  PRIMARY KEY (user_id, category),
  FOREIGN KEY (user_id, item_id) REFERENCES user_cosmetics (user_id, item_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE learning_modules (
  id                   TEXT PRIMARY KEY,
  number               INTEGER NOT NULL UNIQUE CHECK (number BETWEEN 1 AND 1000000),
  title                TEXT NOT NULL,
  description          TEXT NOT NULL,
  total                INTEGER NOT NULL CHECK (total BETWEEN 1 AND 1000000),  -- steps
  min_seconds          INTEGER NOT NULL CHECK (min_seconds BETWEEN 0 AND 31536000),
  points               INTEGER NOT NULL CHECK (points BETWEEN 0 AND 9007199254740991),
  repeat_after_seconds INTEGER CHECK (repeat_after_seconds BETWEEN 1 AND 315360000),  -- NULL: once
  active               INTEGER NOT NULL CHECK (active IN (0, 1)),
  inserted_at          INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL
) STRICT;

CREATE TABLE learning_progress (
  user_id            TEXT NOT NULL REFERENCES users (id),
  module_id          TEXT NOT NULL REFERENCES learning_modules (id),
  started_at         INTEGER NOT NULL,  -- of this round
  completed          INTEGER NOT NULL DEFAULT 0 CHECK (completed >= 0),
  completed_at       INTEGER,           -- of this round
  repeat_eligible_at INTEGER,           -- NULL while it isn't completed, and where it pays once
  first_completed_at INTEGER,           -- what opens the next module, for good
  PRIMARY KEY (user_id, module_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE learning_paths (
  user_id TEXT PRIMARY KEY REFERENCES users (id),
  path    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
