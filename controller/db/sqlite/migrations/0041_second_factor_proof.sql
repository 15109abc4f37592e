-- 0041_second_factor_proof.sql: when the user last proved the second factor in a session. Admins
-- need a recent proof before the console may act for them.
ALTER TABLE sessions ADD COLUMN second_factor_at INTEGER;
