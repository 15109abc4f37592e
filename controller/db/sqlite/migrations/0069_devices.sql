-- 0069_devices.sql: which programs have logged in by berth's own client, for the user who wants to know and end them.

CREATE TABLE devices (
  family_id    TEXT PRIMARY KEY REFERENCES token_families (id),
  name         TEXT NOT NULL,    -- what the program called its machine; empty if it said nothing
  program      TEXT NOT NULL,    -- its User-Agent
  address      TEXT NOT NULL,    -- where it last got tokens
  last_used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- What a device was allowed ends together with everything else of the user.
CREATE INDEX device_codes_by_grant ON device_codes (grant_id) WHERE grant_id IS NOT NULL;
