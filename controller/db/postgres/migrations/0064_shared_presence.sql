-- 0064_shared_presence.sql: who is where, for several berthd on one database. On SQLite, one berthd has it in memory.

-- Where the user is while they are online; removed when they are offline.
ALTER TABLE presence ADD COLUMN current_game text COLLATE "C";
ALTER TABLE presence ADD COLUMN lobby text COLLATE "C";
ALTER TABLE presence ADD COLUMN has_left bigint NOT NULL DEFAULT 0 CHECK (has_left IN (0, 1));
CREATE INDEX presence_by_place ON presence (last_seen) WHERE current_game IS NOT NULL OR lobby IS NOT NULL;

CREATE UNLOGGED TABLE presence_seats (
  table_id  text COLLATE "C" NOT NULL,  -- a name that an app gave the table
  user_id   text COLLATE "C" NOT NULL,
  sat_at    bigint NOT NULL,
  last_seen bigint NOT NULL,
  has_left  bigint NOT NULL,
  PRIMARY KEY (table_id, user_id)
);
CREATE INDEX presence_seats_by_user ON presence_seats (user_id);
CREATE INDEX presence_seats_by_time ON presence_seats (last_seen);
