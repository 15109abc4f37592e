-- 0026_sizes_and_restarts.sql: how the newest change of a deployment's size came to its containers, and restarts of one
-- process.

-- Whether they got it while they ran, or were replaced. NULL: the newest change wasn't one of size alone, or nothing of it
-- has come to the containers yet.
ALTER TABLE deployments ADD COLUMN resized TEXT CHECK (resized IN ('in_place', 'rollout'));
-- How often each process was restarted by itself: a JSON object of numbers by the names of processes.
ALTER TABLE deployments ADD COLUMN process_rollouts TEXT NOT NULL DEFAULT '{}';
