-- 0064_shared_presence.sql: who is where, for several berthd on one database. On SQLite, one berthd has it in memory.

-- Where the user is while they are online; removed when they are offline.
ALTER TABLE presence ADD COLUMN current_game TEXT;
ALTER TABLE presence ADD COLUMN lobby TEXT;
ALTER TABLE presence ADD COLUMN has_left INTEGER NOT NULL DEFAULT 0 CHECK (has_left IN (0, 1));
CREATE INDEX presence_by_place ON presence (last_seen) WHERE current_game IS NOT NULL OR lobby IS NOT NULL;

CREATE TABLE presence_seats (
  table_id  TEXT NOT NULL,  -- a name that an app gave the table
  user_id   TEXT NOT NULL,
  sat_at    INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  has_left  INTEGER NOT NULL,
  PRIMARY KEY (table_id, user_id)
) STRICT;
CREATE INDEX presence_seats_by_user ON presence_seats (user_id);
CREATE INDEX presence_seats_by_time ON presence_seats (last_seen);
