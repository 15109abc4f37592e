-- 0069_devices.sql: which programs have logged in by berth's own client, for the user who wants to know and end them.

CREATE TABLE devices (
  family_id    text COLLATE "C" PRIMARY KEY REFERENCES token_families (id),
  name         text COLLATE "C" NOT NULL,  -- what the program called its machine; empty if it said nothing
  program      text COLLATE "C" NOT NULL,  -- its User-Agent
  address      text COLLATE "C" NOT NULL,  -- where it last got tokens
  last_used_at bigint NOT NULL
);
CREATE INDEX device_codes_by_grant ON device_codes (grant_id) WHERE grant_id IS NOT NULL;
