-- 0032_guest_owners.sql: the guests of all apps of an account are counted together, as the subject 'owner:' and its id.

-- The apps of an account that have made guests, also the deleted ones. Nothing has been counted by day yet.
INSERT INTO guest_counts (subject, living, day, made)
SELECT 'owner:' || a.owner_id, sum(c.living), max(c.day), 0
FROM guest_counts c
JOIN apps a ON a.id = c.subject
GROUP BY a.owner_id;
