-- 0002_command_and_args.sql: what a container runs instead of its image's ENTRYPOINT and CMD. Both are JSON arrays of
-- texts; an empty one, which every deployment has so far, stands for the image's own. A revision has them, too, so that a
-- rollback brings them back.
ALTER TABLE deployments ADD COLUMN command TEXT NOT NULL DEFAULT '[]';
ALTER TABLE deployments ADD COLUMN args TEXT NOT NULL DEFAULT '[]';
ALTER TABLE deployment_revisions ADD COLUMN command TEXT NOT NULL DEFAULT '[]';
ALTER TABLE deployment_revisions ADD COLUMN args TEXT NOT NULL DEFAULT '[]';
