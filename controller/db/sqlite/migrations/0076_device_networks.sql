-- 0076_device_networks.sql: the networks from which devices ask, so that each of them has a share of the requests that
-- may wait at a time. Rows from before count for none; they live for ten minutes.
ALTER TABLE device_codes ADD COLUMN narrow_network TEXT NOT NULL DEFAULT '';  -- IPv4 address, IPv6 /64
ALTER TABLE device_codes ADD COLUMN middle_network TEXT NOT NULL DEFAULT '';  -- IPv4 /24, IPv6 /56
ALTER TABLE device_codes ADD COLUMN wide_network TEXT NOT NULL DEFAULT '';    -- IPv6 /48; '' for IPv4
CREATE INDEX device_codes_by_narrow_network ON device_codes (narrow_network);
CREATE INDEX device_codes_by_middle_network ON device_codes (middle_network);
CREATE INDEX device_codes_by_wide_network ON device_codes (wide_network);
