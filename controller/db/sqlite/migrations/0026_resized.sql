-- 0026_resized.sql: how the newest change of a deployment's size came to its containers.

-- Whether they got it while they ran, or were replaced. NULL: the newest change wasn't one of size alone, or nothing of it
-- has come to the containers yet.
ALTER TABLE deployments ADD COLUMN resized TEXT CHECK (resized IN ('in_place', 'rollout'));
