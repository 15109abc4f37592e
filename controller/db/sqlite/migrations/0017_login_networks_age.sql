-- For their removal, of whoever they are.
CREATE INDEX login_networks_by_time ON login_networks (last_at);
