-- 0002_command_and_args.sql: what a container runs instead of its image's ENTRYPOINT and CMD. PostgreSQL rewrites no row
-- for a column with a constant default.
ALTER TABLE deployments
  ADD COLUMN command text COLLATE "C" NOT NULL DEFAULT '[]',
  ADD COLUMN args    text COLLATE "C" NOT NULL DEFAULT '[]';
ALTER TABLE deployment_revisions
  ADD COLUMN command text COLLATE "C" NOT NULL DEFAULT '[]',
  ADD COLUMN args    text COLLATE "C" NOT NULL DEFAULT '[]';
