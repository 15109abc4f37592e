-- 0054_orders_of_lists.sql: indexes for lists that were sorted anew for each page.

DROP INDEX audience_segments_by_app;
CREATE INDEX audience_segments_by_app ON audience_segments (app_id, id);
CREATE INDEX outbox_by_time ON outbox (created_at, id);
