-- 0034_meter_days.sql: days of use are removed deployment by deployment, and need no index by their day, which took a third
-- of their room.
DROP INDEX meter_days_by_day;
