-- 0032_guest_owners.sql: guests by account; SQLite's file says more.
INSERT INTO guest_counts (subject, living, day, made)
SELECT 'owner:' || a.owner_id, sum(c.living), max(c.day), 0
FROM guest_counts c
JOIN apps a ON a.id = c.subject
GROUP BY a.owner_id;
