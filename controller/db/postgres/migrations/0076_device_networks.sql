-- 0076_device_networks.sql: see the same file of SQLite.

ALTER TABLE device_codes ADD COLUMN narrow_network text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE device_codes ADD COLUMN middle_network text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE device_codes ADD COLUMN wide_network text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX device_codes_by_narrow_network ON device_codes (narrow_network);
CREATE INDEX device_codes_by_middle_network ON device_codes (middle_network);
CREATE INDEX device_codes_by_wide_network ON device_codes (wide_network);
