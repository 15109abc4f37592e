-- A session that is left alone ends before its time, where it was opened with a limit.
ALTER TABLE sessions ADD COLUMN idle_timeout INTEGER CHECK (idle_timeout > 0);  -- ms; NULL: no limit
-- As it was known some seconds ago: the newest is in memory. NULL: not since it was opened.
ALTER TABLE sessions ADD COLUMN last_used_at INTEGER;
