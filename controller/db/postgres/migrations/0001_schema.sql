-- 0001_schema.sql: the schema of version 1.0.0, which every database begins with. Later changes are migrations
-- (CONTRIBUTING.md). SQLite's file of the same name has the same tables in the same order, and says why each one is as
-- it is; tests/sql/equality.py shows that both are equal. Only what is PostgreSQL's own is explained here.
--
-- Types: flags, times and amounts are bigint, as the statements bind them. Texts compare by their bytes, as on SQLite,
-- whatever the database's own collation is.
--
-- Two things differ. Postings have no foreign key to their transaction: with it, two thirds of all writes to one
-- account collided under SERIALIZABLE, and the audit finds postings without a transaction. And the index
-- ledger_accounts_that_differ isn't there.
--
-- A write that changes a row by its key also reads a page of the key's index. If the new version of the row needs
-- entries in the indexes, writes of two rows with neighbouring keys collide. It needs none if no index has to do with
-- the columns that change, and if the row's page has room for it. Hence the fill factors, and the index that is
-- missing.

-- A UUIDv7 (RFC 9562, section 5.7), of the server's clock.
CREATE FUNCTION new_uuid7() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT substr(t.hex, 1, 8) || '-' || substr(t.hex, 9) || '-7' || substr(gen_random_uuid()::text, 16)
  FROM (SELECT lpad(to_hex(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') AS hex) AS t
$$;

-- ==== The database as a whole ====

CREATE TABLE meta (
  key   text COLLATE "C" PRIMARY KEY,
  value text COLLATE "C" NOT NULL
);

CREATE TABLE replicas (
  id        text COLLATE "C" PRIMARY KEY,
  beats     bigint NOT NULL,
  beaten_at bigint NOT NULL
);

CREATE TABLE loop_leases (
  name     text COLLATE "C" PRIMARY KEY,
  owner_id text COLLATE "C" NOT NULL,
  taken_at bigint NOT NULL
);

CREATE TABLE audit_log (
  id      text COLLATE "C" PRIMARY KEY,
  actor   text COLLATE "C" NOT NULL,
  action  text COLLATE "C" NOT NULL,
  target  text COLLATE "C" NOT NULL,
  details text COLLATE "C" NOT NULL,
  at      bigint NOT NULL
);
CREATE INDEX audit_log_by_target ON audit_log (target, id);
CREATE INDEX audit_log_by_actor ON audit_log (actor, id);
CREATE INDEX audit_log_by_action ON audit_log (action, id);

CREATE TABLE outbox (
  id              text COLLATE "C" PRIMARY KEY,
  to_address      text COLLATE "C" NOT NULL,
  subject         text COLLATE "C" NOT NULL,
  sealed          text COLLATE "C" NOT NULL,
  created_at      bigint NOT NULL,
  sent_at         bigint,
  attempts        bigint NOT NULL DEFAULT 0,
  next_attempt_at bigint NOT NULL DEFAULT 0,
  failed_at       bigint,
  last_error      text COLLATE "C"
);
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX outbox_failed ON outbox (failed_at) WHERE failed_at IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (next_attempt_at, created_at, sent_at, failed_at)
  WHERE sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX outbox_by_address ON outbox (to_address);
CREATE INDEX outbox_by_time ON outbox (created_at, id);

CREATE TABLE idempotency_keys (
  principal    text COLLATE "C" NOT NULL,
  method       text COLLATE "C" NOT NULL,
  path         text COLLATE "C" NOT NULL,
  key          text COLLATE "C" NOT NULL,
  request_hash text COLLATE "C" NOT NULL,
  status       bigint NOT NULL,
  body         text COLLATE "C" NOT NULL,
  created_at   bigint NOT NULL,
  PRIMARY KEY (principal, method, path, key)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);

CREATE TABLE idempotency_bodies (
  principal text COLLATE "C" NOT NULL,
  body_hash text COLLATE "C" NOT NULL,
  body      text COLLATE "C" NOT NULL,
  used_at   bigint NOT NULL,
  PRIMARY KEY (principal, body_hash)
);
CREATE INDEX idempotency_bodies_by_time ON idempotency_bodies (used_at);

CREATE TABLE write_counts (
  day          bigint NOT NULL,
  subject_hash text COLLATE "C" NOT NULL,
  bytes        bigint NOT NULL,
  row_count    bigint NOT NULL,
  PRIMARY KEY (day, subject_hash)
);

-- ==== Accounts ====

CREATE TABLE users (
  id                   text COLLATE "C" PRIMARY KEY,
  email                text COLLATE "C" NOT NULL,
  email_key            text COLLATE "C" NOT NULL UNIQUE,
  username             text COLLATE "C" NOT NULL,
  username_key         text COLLATE "C" NOT NULL UNIQUE,
  password_hash        text COLLATE "C" NOT NULL,
  tier                 text COLLATE "C" NOT NULL DEFAULT 'free',
  is_admin             bigint NOT NULL DEFAULT 0 CHECK (is_admin IN (0, 1)),
  email_verified_at    bigint,
  totp_enabled_at      bigint,
  referral_code        text COLLATE "C" NOT NULL UNIQUE,
  referred_by          text COLLATE "C" REFERENCES users (id),
  registration_number  bigint NOT NULL UNIQUE,
  signup_multiplier    bigint NOT NULL CHECK (signup_multiplier >= 1),
  suspended_at         bigint,
  created_at           bigint NOT NULL,
  updated_at           bigint NOT NULL,
  deleted_at           bigint,
  signup_bonus         bigint CHECK (signup_bonus BETWEEN 0 AND 9007199254740991),
  signup_bonus_at      bigint,
  referral_rewarded_at bigint,
  free_points          bigint NOT NULL DEFAULT 0 CHECK (free_points BETWEEN 0 AND 9007199254740991),
  referral_spent       bigint NOT NULL DEFAULT 0 CHECK (referral_spent BETWEEN 0 AND 9007199254740991),
  is_returning         bigint NOT NULL DEFAULT 0 CHECK (is_returning IN (0, 1)),
  direct_referrals     bigint NOT NULL DEFAULT 0 CHECK (direct_referrals >= 0),
  own_spent            bigint NOT NULL DEFAULT 0 CHECK (own_spent BETWEEN 0 AND 100),
  bonus_received       bigint NOT NULL DEFAULT 0 CHECK (bonus_received >= 0),
  bonus_since          bigint NOT NULL DEFAULT 0
);
CREATE INDEX users_by_referrer ON users (referred_by) WHERE referred_by IS NOT NULL;
CREATE INDEX users_by_bonus_time ON users (signup_bonus_at) WHERE signup_bonus_at IS NOT NULL;
CREATE INDEX users_living ON users (registration_number, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX users_by_address ON users (email_key, id, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX users_searchable ON users (username_key, id, username, deleted_at, suspended_at)
  WHERE deleted_at IS NULL;

CREATE TABLE email_tokens (
  token_hash text COLLATE "C" PRIMARY KEY,
  user_id    text COLLATE "C" NOT NULL REFERENCES users (id),
  purpose    text COLLATE "C" NOT NULL CHECK (purpose IN ('verify_email', 'reset_password')),
  expires_at bigint NOT NULL,
  used_at    bigint,
  created_at bigint NOT NULL DEFAULT 0
);
CREATE INDEX email_tokens_by_expiry ON email_tokens (expires_at);
CREATE INDEX email_tokens_by_user ON email_tokens (user_id, purpose, created_at);

CREATE TABLE email_changes (
  stop_hash    text COLLATE "C" PRIMARY KEY,
  confirm_hash text COLLATE "C" UNIQUE,
  user_id      text COLLATE "C" NOT NULL REFERENCES users (id),
  old_email    text COLLATE "C" NOT NULL,
  old_key      text COLLATE "C" NOT NULL,
  old_verified bigint NOT NULL CHECK (old_verified IN (0, 1)),
  new_email    text COLLATE "C" NOT NULL,
  asked_at     bigint NOT NULL,
  confirmed_at bigint
);
CREATE INDEX email_changes_by_user ON email_changes (user_id, asked_at);
CREATE INDEX email_changes_by_old_key ON email_changes (old_key);
CREATE INDEX email_changes_by_time ON email_changes (asked_at);

CREATE TABLE reset_requests (
  id       text COLLATE "C" PRIMARY KEY,
  address  text COLLATE "C" NOT NULL,
  asked_at bigint NOT NULL
);

CREATE TABLE unverified_letters (
  address_hash text COLLATE "C" NOT NULL,
  day          bigint NOT NULL,
  letters      bigint NOT NULL,
  PRIMARY KEY (address_hash, day)
);
CREATE INDEX unverified_letters_by_day ON unverified_letters (day);

CREATE TABLE sessions (
  id               text COLLATE "C" PRIMARY KEY,
  user_id          text COLLATE "C" NOT NULL REFERENCES users (id),
  address          text COLLATE "C" NOT NULL,
  user_agent       text COLLATE "C" NOT NULL,
  created_at       bigint NOT NULL,
  expires_at       bigint NOT NULL,
  revoked_at       bigint,
  idle_timeout     bigint CHECK (idle_timeout > 0),
  last_used_at     bigint,
  authenticated_at bigint NOT NULL DEFAULT 0,
  second_factor_at bigint
);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_user ON sessions (user_id, created_at, id);

CREATE TABLE totp_secrets (
  user_id       text COLLATE "C" PRIMARY KEY REFERENCES users (id),
  sealed_secret text COLLATE "C" NOT NULL,
  last_step     bigint NOT NULL DEFAULT 0,
  created_at    bigint NOT NULL
);

CREATE TABLE recovery_codes (
  user_id   text COLLATE "C" NOT NULL REFERENCES users (id),
  code_hash text COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, code_hash)
);

CREATE TABLE login_networks (
  user_id text COLLATE "C" NOT NULL REFERENCES users (id),
  network text COLLATE "C" NOT NULL,
  last_at bigint NOT NULL,
  PRIMARY KEY (user_id, network)
);
CREATE INDEX login_networks_by_time ON login_networks (last_at);

-- Not logged: what a crash or another server's taking over loses is what a restart has always lost, and a flood of
-- failures costs no synchronous write.
CREATE UNLOGGED TABLE login_failures (
  id        bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  key_hash  text COLLATE "C" NOT NULL,
  failed_at bigint NOT NULL
);
CREATE INDEX login_failures_by_key ON login_failures (key_hash, failed_at);
CREATE INDEX login_failures_by_time ON login_failures (failed_at);

CREATE TABLE deleted_addresses (
  address_hash text COLLATE "C" PRIMARY KEY,
  deleted_at   bigint NOT NULL
);
CREATE INDEX deleted_addresses_by_time ON deleted_addresses (deleted_at);

CREATE TABLE given_up_names (
  kind        text COLLATE "C" NOT NULL CHECK (kind IN ('user', 'app')),
  name_hash   text COLLATE "C" NOT NULL,
  owner_id    text COLLATE "C",
  given_up_at bigint NOT NULL,
  PRIMARY KEY (kind, name_hash)
);
CREATE INDEX given_up_names_by_time ON given_up_names (given_up_at);
CREATE INDEX given_up_names_by_owner ON given_up_names (owner_id, kind, given_up_at);

CREATE TABLE erasures (
  user_id text COLLATE "C" PRIMARY KEY REFERENCES users (id),
  due_at  bigint NOT NULL
);
CREATE INDEX erasures_due ON erasures (due_at);

-- ==== Apps of operators, and what users allowed them (RFC 6749, RFC 7636, RFC 9700) ====

CREATE TABLE apps (
  id                         text COLLATE "C" PRIMARY KEY,
  owner_id                   text COLLATE "C" NOT NULL REFERENCES users (id),
  app_name                   text COLLATE "C" NOT NULL,
  app_description            text COLLATE "C" NOT NULL DEFAULT '',
  logo_url                   text COLLATE "C",
  website_url                text COLLATE "C",
  client_id                  text COLLATE "C" NOT NULL UNIQUE,
  client_secret_hash         text COLLATE "C" NOT NULL,
  redirect_uris              text COLLATE "C" NOT NULL,
  allowed_scopes             text COLLATE "C" NOT NULL,
  approved_scopes            text COLLATE "C" NOT NULL,
  listed                     bigint NOT NULL DEFAULT 0 CHECK (listed IN (0, 1)),
  promoted_tier              text COLLATE "C",
  suspended_at               bigint,
  inserted_at                bigint NOT NULL,
  updated_at                 bigint NOT NULL,
  previous_secret_hash       text COLLATE "C",
  previous_secret_expires_at bigint,
  deleted_at                 bigint,
  session_tokens             bigint NOT NULL DEFAULT 1 CHECK (session_tokens IN (0, 1)),
  refresh_requires_client    bigint NOT NULL DEFAULT 0 CHECK (refresh_requires_client IN (0, 1)),
  is_public                  bigint NOT NULL DEFAULT 0 CHECK (is_public IN (0, 1)),
  built_in                   bigint NOT NULL DEFAULT 0 CHECK (built_in IN (0, 1))
);
CREATE INDEX apps_by_owner ON apps (owner_id, inserted_at);
CREATE INDEX apps_deleted ON apps (id) WHERE deleted_at IS NOT NULL;
CREATE INDEX apps_public ON apps (inserted_at, id, listed, deleted_at, suspended_at)
  WHERE listed = 1 AND deleted_at IS NULL AND suspended_at IS NULL;
CREATE INDEX apps_owned ON apps (owner_id, inserted_at, id) WHERE deleted_at IS NULL;
CREATE INDEX apps_living ON apps (inserted_at, id, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX apps_by_lower_name ON apps (lower(app_name), id, deleted_at) WHERE deleted_at IS NULL;

CREATE TABLE app_origins (
  app_id text COLLATE "C" NOT NULL REFERENCES apps (id),
  origin text COLLATE "C" NOT NULL,
  PRIMARY KEY (app_id, origin)
);
CREATE INDEX app_origins_by_origin ON app_origins (origin);

CREATE TABLE app_users (
  app_id text COLLATE "C" PRIMARY KEY REFERENCES apps (id),
  users  bigint NOT NULL CHECK (users >= 0)
);

CREATE TABLE app_erasures (
  app_id text COLLATE "C" PRIMARY KEY REFERENCES apps (id)
);

CREATE TABLE scope_requests (
  id               text COLLATE "C" PRIMARY KEY,
  app_id           text COLLATE "C" NOT NULL REFERENCES apps (id),
  requested_scopes text COLLATE "C" NOT NULL,
  status           text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'withdrawn')),
  reason           text COLLATE "C",
  decided_by       text COLLATE "C",
  decided_at       bigint,
  inserted_at      bigint NOT NULL
);
CREATE INDEX scope_requests_by_time ON scope_requests (inserted_at, id);
CREATE INDEX scope_requests_by_app ON scope_requests (app_id, inserted_at, id);
CREATE INDEX scope_requests_by_status ON scope_requests (status, inserted_at, id);
CREATE INDEX scope_requests_by_app_and_status ON scope_requests (app_id, status, inserted_at, id);

CREATE TABLE grants (
  id                text COLLATE "C" PRIMARY KEY,
  app_id            text COLLATE "C" NOT NULL REFERENCES apps (id),
  user_id           text COLLATE "C" NOT NULL REFERENCES users (id),
  scopes            text COLLATE "C" NOT NULL,
  connected_at      bigint NOT NULL,
  revoked_at        bigint,
  daily_spend_limit bigint CHECK (daily_spend_limit BETWEEN 0 AND 9007199254740991),
  spent_day         bigint,
  spent_on_day      bigint NOT NULL DEFAULT 0 CHECK (spent_on_day BETWEEN 0 AND 9007199254740991),
  last_used_at      bigint,
  session_access    text COLLATE "C" NOT NULL DEFAULT 'full' CHECK (session_access IN ('full', 'read')),
  UNIQUE (app_id, user_id)
) WITH (fillfactor = 80);
CREATE INDEX grants_by_user ON grants (user_id);
CREATE INDEX grants_revoked ON grants (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX grants_by_app_connection ON grants (app_id, connected_at) WHERE scopes <> '';
CREATE INDEX grants_by_app_use ON grants (app_id, coalesce(last_used_at, connected_at), connected_at)
  WHERE scopes <> '';
CREATE INDEX grants_connected ON grants (user_id, connected_at, id)
  WHERE revoked_at IS NULL AND scopes <> '';
CREATE INDEX grants_of_app ON grants (app_id, revoked_at) WHERE revoked_at IS NULL;

CREATE TABLE user_apps (
  user_id text COLLATE "C" PRIMARY KEY REFERENCES users (id),
  apps    bigint NOT NULL CHECK (apps >= 0)
);

CREATE TABLE token_families (
  id         text COLLATE "C" PRIMARY KEY,
  grant_id   text COLLATE "C" NOT NULL REFERENCES grants (id),
  scopes     text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  revoked_at bigint
);
CREATE INDEX token_families_by_expiry ON token_families (expires_at);
CREATE INDEX token_families_revoked ON token_families (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX token_families_by_grant ON token_families (grant_id, created_at, id);
CREATE INDEX token_families_living ON token_families (grant_id, created_at, id)
  WHERE revoked_at IS NULL;

CREATE TABLE authorization_codes (
  code_hash      text COLLATE "C" PRIMARY KEY,
  grant_id       text COLLATE "C" NOT NULL REFERENCES grants (id),
  redirect_uri   text COLLATE "C" NOT NULL,
  scopes         text COLLATE "C" NOT NULL,
  code_challenge text COLLATE "C" NOT NULL,
  expires_at     bigint NOT NULL,
  used_at        bigint,
  family_id      text COLLATE "C" REFERENCES token_families (id),
  with_session   bigint NOT NULL DEFAULT 1 CHECK (with_session IN (0, 1))
);
CREATE INDEX authorization_codes_unused ON authorization_codes (expires_at) WHERE family_id IS NULL;
CREATE INDEX authorization_codes_by_family ON authorization_codes (family_id)
  WHERE family_id IS NOT NULL;
CREATE INDEX authorization_codes_by_grant ON authorization_codes (grant_id);

CREATE TABLE access_tokens (
  token_hash text COLLATE "C" PRIMARY KEY,
  family_id  text COLLATE "C" NOT NULL REFERENCES token_families (id),
  expires_at bigint NOT NULL,
  scopes     text COLLATE "C",
  revoked_at bigint
);
CREATE INDEX access_tokens_by_family ON access_tokens (family_id);
CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);

CREATE TABLE refresh_tokens (
  token_hash  text COLLATE "C" PRIMARY KEY,
  family_id   text COLLATE "C" NOT NULL REFERENCES token_families (id),
  expires_at  bigint NOT NULL,
  consumed_at bigint
);
CREATE INDEX refresh_tokens_by_family ON refresh_tokens (family_id);
CREATE INDEX refresh_tokens_by_expiry ON refresh_tokens (expires_at);

CREATE TABLE device_codes (
  device_code_hash text COLLATE "C" PRIMARY KEY,
  user_code_hash   text COLLATE "C" NOT NULL UNIQUE,
  app_id           text COLLATE "C" NOT NULL REFERENCES apps (id),
  scopes           text COLLATE "C" NOT NULL,
  address          text COLLATE "C" NOT NULL,
  user_agent       text COLLATE "C" NOT NULL,
  created_at       bigint NOT NULL,
  expires_at       bigint NOT NULL,
  poll_interval    bigint NOT NULL,
  polled_at        bigint,
  grant_id         text COLLATE "C",
  denied_at        bigint,
  narrow_network   text COLLATE "C" NOT NULL DEFAULT '',
  middle_network   text COLLATE "C" NOT NULL DEFAULT '',
  wide_network     text COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX device_codes_by_expiry ON device_codes (expires_at);
CREATE INDEX device_codes_by_grant ON device_codes (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX device_codes_by_narrow_network ON device_codes (narrow_network);
CREATE INDEX device_codes_by_middle_network ON device_codes (middle_network);
CREATE INDEX device_codes_by_wide_network ON device_codes (wide_network);

CREATE TABLE devices (
  family_id    text COLLATE "C" PRIMARY KEY REFERENCES token_families (id),
  name         text COLLATE "C" NOT NULL,
  program      text COLLATE "C" NOT NULL,
  address      text COLLATE "C" NOT NULL,
  last_used_at bigint NOT NULL
);

CREATE TABLE play_sessions (
  id                text COLLATE "C" PRIMARY KEY,
  family_id         text COLLATE "C" NOT NULL REFERENCES token_families (id),
  token_hash        text COLLATE "C" NOT NULL UNIQUE,
  started_at        bigint NOT NULL,
  expires_at        bigint NOT NULL,
  last_heartbeat_at bigint,
  ended_at          bigint,
  points_earned     bigint NOT NULL DEFAULT 0 CHECK (points_earned BETWEEN 0 AND 9007199254740991),
  unpaid_ms         bigint NOT NULL DEFAULT 0 CHECK (unpaid_ms BETWEEN 0 AND 59999)
);
CREATE INDEX play_sessions_by_family ON play_sessions (family_id);
CREATE INDEX play_sessions_by_expiry ON play_sessions (expires_at);

CREATE TABLE play_time (
  user_id       text COLLATE "C" PRIMARY KEY REFERENCES users (id),
  counted_until bigint NOT NULL
);

-- ==== The ledger: double entry, append-only; the only place that a balance comes from ====

CREATE TABLE ledger_kinds (
  number bigint PRIMARY KEY,
  kind   text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE ledger_accounts (
  id       text COLLATE "C" PRIMARY KEY,
  kind     text COLLATE "C" NOT NULL
    CHECK (kind IN ('user', 'app', 'treasury', 'campaign', 'reservation', 'issuance')),
  owner    text COLLATE "C" NOT NULL,
  balance  bigint NOT NULL DEFAULT 0 CHECK (abs(balance) <= 9007199254740991),
  credited bigint NOT NULL DEFAULT 0 CHECK (credited >= 0),
  debited  bigint NOT NULL DEFAULT 0 CHECK (debited >= 0),
  number   bigint NOT NULL DEFAULT 0,
  bonus    bigint NOT NULL DEFAULT 0 CHECK (bonus >= 0),
  UNIQUE (kind, owner),
  CHECK (balance >= 0 OR kind = 'issuance')
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX ledger_accounts_by_number ON ledger_accounts (number);

CREATE TABLE ledger_transactions (
  number  bigint PRIMARY KEY,
  id_high bigint NOT NULL,
  id_low  bigint NOT NULL,
  kind    bigint NOT NULL REFERENCES ledger_kinds (number),
  memo    text COLLATE "C" NOT NULL
);

CREATE TABLE ledger_postings (
  account_number     bigint NOT NULL REFERENCES ledger_accounts (number),
  incoming           bigint NOT NULL CHECK (incoming IN (0, 1)),
  transaction_number bigint NOT NULL,
  leg                bigint NOT NULL CHECK (leg >= 0),
  kind               bigint NOT NULL,
  amount             bigint NOT NULL CHECK (amount <> 0 AND abs(amount) <= 9007199254740991),
  PRIMARY KEY (account_number, incoming, transaction_number, leg),
  CHECK ((incoming = 1) = (amount > 0))
);
CREATE UNIQUE INDEX ledger_postings_of_transaction
  ON ledger_postings (transaction_number, leg, amount);
CREATE INDEX ledger_postings_of_kind
  ON ledger_postings (account_number, incoming, kind, transaction_number, leg);

-- The key is that of the posting, to which no foreign key refers, because looking it up would make writes collide; the
-- audit compares the two. Rows live for about 100 milliseconds, so space is freed early.
CREATE TABLE ledger_pending (
  account_number     bigint NOT NULL,
  transaction_number bigint NOT NULL,
  leg                bigint NOT NULL,
  kind               bigint NOT NULL,
  amount             bigint NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  PRIMARY KEY (account_number, transaction_number, leg)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, vacuum_truncate = false);

CREATE TABLE ledger_days (
  account_id text COLLATE "C" NOT NULL REFERENCES ledger_accounts (id),
  day        bigint NOT NULL,
  credited   bigint NOT NULL,
  debited    bigint NOT NULL,
  PRIMARY KEY (account_id, day)
);

CREATE TABLE ledger_kind_days (
  account_id text COLLATE "C" NOT NULL REFERENCES ledger_accounts (id),
  day        bigint NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  postings   bigint NOT NULL,
  credited   bigint NOT NULL,
  debited    bigint NOT NULL,
  PRIMARY KEY (account_id, day, kind)
);
CREATE INDEX ledger_kind_days_by_day ON ledger_kind_days (day, account_id, kind);

CREATE TABLE ledger_closed_days (
  day          bigint PRIMARY KEY,
  closed_at    bigint NOT NULL,
  transactions bigint,
  postings     bigint,
  moved        bigint,
  hash         text COLLATE "C",
  chain        text COLLATE "C",
  CHECK ((hash IS NULL) = (chain IS NULL))
);

CREATE TABLE ledger_audit_parts (
  part        text COLLATE "C" PRIMARY KEY,
  position    text COLLATE "C" NOT NULL,
  checked     bigint NOT NULL,
  broken      bigint NOT NULL,
  first       text COLLATE "C" NOT NULL,
  ended_at    bigint,
  was_checked bigint NOT NULL,
  was_broken  bigint NOT NULL,
  was_first   text COLLATE "C" NOT NULL
);

CREATE TABLE ledger_holds (
  id         text COLLATE "C" PRIMARY KEY,
  source_id  text COLLATE "C" NOT NULL REFERENCES ledger_accounts (id),
  held_id    text COLLATE "C" NOT NULL REFERENCES ledger_accounts (id),
  amount     bigint NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  purpose    text COLLATE "C" NOT NULL,
  state      text COLLATE "C" NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'posted', 'voided', 'expired')),
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  closed_at  bigint,
  CHECK ((state = 'open') = (closed_at IS NULL))
);
CREATE INDEX ledger_holds_open ON ledger_holds (expires_at) WHERE state = 'open';
CREATE INDEX ledger_holds_of_source ON ledger_holds (source_id) WHERE state = 'open';
CREATE INDEX ledger_holds_closed ON ledger_holds (closed_at) WHERE state <> 'open';
CREATE INDEX ledger_holds_of_held ON ledger_holds (held_id, amount) WHERE state = 'open';

CREATE TABLE reward_days (
  subject text COLLATE "C" NOT NULL,
  day     bigint NOT NULL,
  points  bigint NOT NULL CHECK (points BETWEEN 0 AND 9007199254740991),
  PRIMARY KEY (subject, day)
);
CREATE INDEX reward_days_by_day ON reward_days (day);

CREATE TABLE memo_erasures (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES ledger_accounts (id),
  user_id    text COLLATE "C" NOT NULL REFERENCES erasures (user_id),
  up_to      bigint NOT NULL DEFAULT 0
);
CREATE INDEX memo_erasures_by_user ON memo_erasures (user_id);

-- ==== Deployments: what operators want to run, and what the cluster made of it ====

CREATE TABLE deploy_tiers (
  id                     text COLLATE "C" PRIMARY KEY,
  name                   text COLLATE "C" NOT NULL,
  slug                   text COLLATE "C" NOT NULL UNIQUE,
  description            text COLLATE "C" NOT NULL,
  payment_method         text COLLATE "C" NOT NULL CHECK (payment_method IN ('service_points', 'bitcoin')),
  monthly_cost_points    bigint CHECK (monthly_cost_points BETWEEN 0 AND 9007199254740991),
  monthly_cost_sats      bigint CHECK (monthly_cost_sats >= 0),
  memory_limit_mb        bigint NOT NULL CHECK (memory_limit_mb > 0),
  cpu_limit_millicores   bigint NOT NULL CHECK (cpu_limit_millicores > 0),
  max_deployments        bigint CHECK (max_deployments >= 0),
  custom_domain_allowed  bigint NOT NULL CHECK (custom_domain_allowed IN (0, 1)),
  auto_approve           bigint NOT NULL CHECK (auto_approve IN (0, 1)),
  monthly_stipend_points bigint NOT NULL DEFAULT 0 CHECK (monthly_stipend_points >= 0),
  ad_reach_multiplier    text COLLATE "C" NOT NULL DEFAULT '1.0',
  position               bigint NOT NULL,
  runtime_class          text COLLATE "C",
  user_namespaces        bigint CHECK (user_namespaces IN (0, 1)),
  smtp                   bigint NOT NULL DEFAULT 0 CHECK (smtp IN (0, 1)),
  bandwidth_mbit         bigint CHECK (bandwidth_mbit > 0),
  CHECK ((payment_method = 'bitcoin') = (monthly_cost_sats IS NOT NULL)),
  CHECK ((payment_method = 'service_points') = (monthly_cost_points IS NOT NULL))
);

CREATE TABLE deployments (
  id                   text COLLATE "C" PRIMARY KEY,
  app_id               text COLLATE "C" NOT NULL REFERENCES apps (id),
  owner_id             text COLLATE "C" NOT NULL REFERENCES users (id),
  tier_id              text COLLATE "C" NOT NULL REFERENCES deploy_tiers (id),
  name                 text COLLATE "C" NOT NULL,
  image                text COLLATE "C" NOT NULL,
  port                 bigint NOT NULL CHECK (port BETWEEN 1 AND 65535),
  custom_domain        text COLLATE "C",
  health_path          text COLLATE "C",
  env_keys             text COLLATE "C" NOT NULL,
  env_sealed           text COLLATE "C" NOT NULL,
  credentials_sealed   text COLLATE "C",
  memory_limit_mb      bigint NOT NULL,
  cpu_limit_millicores bigint NOT NULL,
  generation           bigint NOT NULL DEFAULT 1,
  rollout              bigint NOT NULL DEFAULT 0,
  status               text COLLATE "C" NOT NULL
    CHECK (status IN ('pending', 'deploying', 'running', 'stopped', 'errored', 'destroyed')),
  phase                text COLLATE "C" NOT NULL DEFAULT '',
  reason               text COLLATE "C",
  cause                text COLLATE "C",
  message              text COLLATE "C",
  container_id         text COLLATE "C",
  image_digest         text COLLATE "C",
  host_server          text COLLATE "C",
  health_status        text COLLATE "C" CHECK (health_status IN ('healthy', 'unhealthy', 'unknown')),
  billing_status       text COLLATE "C" CHECK (billing_status IN ('current', 'warning', 'suspended', 'exempt')),
  last_health_check    bigint,
  deployed_at          bigint,
  stopped_at           bigint,
  suspended_at         bigint,
  destroyed_at         bigint,
  removed_at           bigint,
  request_id           text COLLATE "C" NOT NULL,
  inserted_at          bigint NOT NULL,
  updated_at           bigint NOT NULL,
  labels               text COLLATE "C" NOT NULL DEFAULT '{}',
  CHECK (removed_at IS NULL OR status = 'destroyed')
);
CREATE UNIQUE INDEX deployments_by_name ON deployments (name) WHERE status <> 'destroyed';
CREATE INDEX deployments_by_app ON deployments (app_id, inserted_at);
CREATE INDEX deployments_on_cluster ON deployments (id) WHERE removed_at IS NULL;
CREATE INDEX deployments_leaving ON deployments (name) WHERE status = 'destroyed' AND removed_at IS NULL;
CREATE INDEX deployments_in_debt ON deployments (id)
  WHERE billing_status IN ('warning', 'suspended');
CREATE INDEX deployments_in_debt_by_app ON deployments (app_id, id)
  WHERE billing_status IN ('warning', 'suspended');
CREATE INDEX deployments_by_tier ON deployments (tier_id) WHERE status <> 'destroyed';
CREATE INDEX deployments_of_app ON deployments (app_id, inserted_at, id)
  WHERE status <> 'destroyed';
CREATE INDEX deployments_by_owner ON deployments (owner_id, tier_id, inserted_at, id)
  WHERE status <> 'destroyed';
CREATE INDEX deployments_by_status ON deployments (status) WHERE status <> 'destroyed';
CREATE INDEX deployments_leaving_of ON deployments (owner_id)
  WHERE status = 'destroyed' AND removed_at IS NULL;
CREATE INDEX deployments_of_owner ON deployments (owner_id, inserted_at, id)
  WHERE status <> 'destroyed';
CREATE INDEX deployments_failed ON deployments (updated_at, id) WHERE status = 'errored';
CREATE INDEX deployments_sizes ON deployments (app_id, memory_limit_mb, cpu_limit_millicores)
  WHERE status <> 'destroyed';
CREATE INDEX deployments_to_erase ON deployments (owner_id)
  WHERE status = 'destroyed' AND removed_at IS NOT NULL AND name <> '';
CREATE INDEX deployments_by_removal ON deployments (removed_at) WHERE status = 'destroyed' AND image <> '';

CREATE TABLE deployment_labels (
  deployment_id text COLLATE "C" NOT NULL REFERENCES deployments (id),
  label         text COLLATE "C" NOT NULL,
  value         text COLLATE "C" NOT NULL,
  app_id        text COLLATE "C" NOT NULL,
  inserted_at   bigint NOT NULL,
  PRIMARY KEY (deployment_id, label)
);
CREATE INDEX deployment_labels_of_app
  ON deployment_labels (app_id, label, value, inserted_at, deployment_id);

CREATE TABLE deployment_revisions (
  deployment_id      text COLLATE "C" NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  generation         bigint NOT NULL,
  kind               text COLLATE "C" NOT NULL CHECK (kind IN ('create', 'patch', 'restart', 'rollback')),
  initiated_by       text COLLATE "C",
  image              text COLLATE "C" NOT NULL,
  port               bigint NOT NULL,
  health_path        text COLLATE "C",
  env_keys           text COLLATE "C" NOT NULL,
  env_sealed         text COLLATE "C" NOT NULL,
  credentials_sealed text COLLATE "C",
  image_digest       text COLLATE "C",
  started_at         bigint NOT NULL,
  succeeded_at       bigint,
  PRIMARY KEY (deployment_id, generation)
);

CREATE TABLE deploy_logs (
  id            text COLLATE "C" PRIMARY KEY,
  deployment_id text COLLATE "C" NOT NULL REFERENCES deployments (id),
  action        text COLLATE "C" NOT NULL,
  status        text COLLATE "C" NOT NULL CHECK (status IN ('started', 'succeeded', 'failed', 'info')),
  initiated_by  text COLLATE "C",
  details       text COLLATE "C",
  inserted_at   bigint NOT NULL,
  number        bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX deploy_logs_in_order ON deploy_logs (deployment_id, number);

CREATE TABLE used_names (
  name_hash text COLLATE "C" PRIMARY KEY,
  owner_id  text COLLATE "C"
);

-- ==== Billing of deployments ====

CREATE TABLE deployment_billing (
  deployment_id text COLLATE "C" PRIMARY KEY REFERENCES deployments (id),
  app_id        text COLLATE "C" NOT NULL REFERENCES apps (id),
  paid_until    bigint NOT NULL,
  rate          bigint NOT NULL CHECK (rate BETWEEN 0 AND 9007199254740991),
  due_at        bigint,
  warned_at     bigint,
  resumes       bigint NOT NULL DEFAULT 0 CHECK (resumes IN (0, 1))
);
CREATE INDEX deployment_billing_due ON deployment_billing (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deployment_billing_by_app ON deployment_billing (app_id, paid_until)
  WHERE due_at IS NOT NULL;

CREATE TABLE deployment_charges (
  deployment_id  text COLLATE "C" NOT NULL REFERENCES deployments (id),
  period_start   bigint NOT NULL,
  transaction_id text COLLATE "C" NOT NULL,
  amount         bigint NOT NULL,
  tier_id        text COLLATE "C" REFERENCES deploy_tiers (id),
  PRIMARY KEY (deployment_id, period_start)
);
CREATE INDEX deployment_charges_by_transaction ON deployment_charges (transaction_id);

CREATE TABLE deployment_tier_changes (
  id             text COLLATE "C" PRIMARY KEY,
  deployment_id  text COLLATE "C" NOT NULL REFERENCES deployments (id),
  period_start   bigint NOT NULL,
  from_tier_id   text COLLATE "C" NOT NULL REFERENCES deploy_tiers (id),
  to_tier_id     text COLLATE "C" NOT NULL REFERENCES deploy_tiers (id),
  amount         bigint NOT NULL,
  transaction_id text COLLATE "C",
  at             bigint NOT NULL,
  CHECK ((amount = 0) = (transaction_id IS NULL))
);
CREATE INDEX deployment_tier_changes_by_transaction ON deployment_tier_changes (transaction_id)
  WHERE transaction_id IS NOT NULL;
CREATE INDEX deployment_tier_changes_of ON deployment_tier_changes (deployment_id, at, id);

CREATE TABLE stipends (
  owner_id       text COLLATE "C" NOT NULL REFERENCES users (id),
  paid_at        bigint NOT NULL,
  tier_id        text COLLATE "C" NOT NULL REFERENCES deploy_tiers (id),
  amount         bigint NOT NULL CHECK (amount >= 1),
  transaction_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (owner_id, paid_at)
);

-- ==== Custom domains: who claims which, who claimed it before, and what certificates were asked for ====

CREATE TABLE custom_domains (
  id            text COLLATE "C" PRIMARY KEY,
  deployment_id text COLLATE "C" NOT NULL REFERENCES deployments (id),
  app_id        text COLLATE "C" NOT NULL REFERENCES apps (id),
  owner_id      text COLLATE "C" NOT NULL REFERENCES users (id),
  domain        text COLLATE "C" NOT NULL,
  is_apex       bigint NOT NULL CHECK (is_apex IN (0, 1)),
  generation    bigint NOT NULL DEFAULT 1,
  state         text COLLATE "C" NOT NULL DEFAULT 'waiting_for_dns'
    CHECK (state IN ('waiting_for_dns', 'issuing', 'active', 'failed')),
  reason        text COLLATE "C",
  message       text COLLATE "C",
  addresses     text COLLATE "C" NOT NULL DEFAULT '[]',
  failures      bigint NOT NULL DEFAULT 0,
  claimed_at    bigint NOT NULL,
  asked_at      bigint NOT NULL,
  checked_at    bigint,
  next_check_at bigint NOT NULL,
  proven_at     bigint,
  refuted_since bigint,
  expires_at    bigint,
  renews_at     bigint,
  released_at   bigint,
  removed_at    bigint,
  txt_reason    text COLLATE "C" CHECK (txt_reason IN ('apex', 'domain_used_before', 'name_used_before')),
  CHECK (removed_at IS NULL OR released_at IS NOT NULL)
);
CREATE UNIQUE INDEX custom_domains_living ON custom_domains (domain) WHERE released_at IS NULL;
CREATE UNIQUE INDEX custom_domains_by_deployment ON custom_domains (deployment_id)
  WHERE released_at IS NULL;
CREATE INDEX custom_domains_history ON custom_domains (domain, released_at);
CREATE INDEX custom_domains_leaving ON custom_domains (domain)
  WHERE released_at IS NOT NULL AND removed_at IS NULL;
CREATE INDEX custom_domains_of_deployment
  ON custom_domains (deployment_id, claimed_at, released_at, id);
CREATE INDEX custom_domains_due ON custom_domains (next_check_at, deployment_id, released_at)
  WHERE released_at IS NULL;
CREATE INDEX custom_domains_leaving_of ON custom_domains (deployment_id, released_at)
  WHERE released_at IS NOT NULL AND removed_at IS NULL;
CREATE INDEX custom_domains_by_removal ON custom_domains (removed_at) WHERE removed_at IS NOT NULL;

CREATE TABLE certificate_orders (
  id                text COLLATE "C" PRIMARY KEY,
  owner_id          text COLLATE "C" NOT NULL REFERENCES users (id),
  app_id            text COLLATE "C" NOT NULL REFERENCES apps (id),
  domain            text COLLATE "C" NOT NULL,
  registered_domain text COLLATE "C" NOT NULL,
  kind              text COLLATE "C" NOT NULL CHECK (kind IN ('first', 'renewal')),
  outcome           text COLLATE "C" CHECK (outcome IN ('issued', 'failed')),
  ordered_at        bigint NOT NULL,
  ended_at          bigint
);
CREATE INDEX certificate_orders_by_time ON certificate_orders (ordered_at);
CREATE INDEX certificate_orders_by_owner ON certificate_orders (owner_id, ordered_at);
CREATE INDEX certificate_orders_by_domain ON certificate_orders (domain, ordered_at);
CREATE INDEX certificate_orders_by_registered ON certificate_orders (registered_domain, ordered_at);
CREATE INDEX certificate_orders_failed ON certificate_orders (domain, ended_at)
  WHERE outcome = 'failed';

-- ==== Events: what happened to an app's deployments and money, and whom to tell of it ====

CREATE TABLE app_events (
  id      bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  uuid    text COLLATE "C" NOT NULL UNIQUE DEFAULT new_uuid7(),
  app_id  text COLLATE "C" NOT NULL REFERENCES apps (id),
  type    text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  data    text COLLATE "C" NOT NULL,
  at      bigint NOT NULL
);
CREATE INDEX app_events_by_subject ON app_events (subject, id);
CREATE INDEX app_events_by_time ON app_events (at);

CREATE TABLE webhooks (
  id            text COLLATE "C" PRIMARY KEY,
  app_id        text COLLATE "C" NOT NULL REFERENCES apps (id),
  url           text COLLATE "C" NOT NULL,
  secret_sealed text COLLATE "C" NOT NULL,
  events        text COLLATE "C" NOT NULL,
  created_at    bigint NOT NULL,
  updated_at    bigint NOT NULL,
  ended_at      bigint
);
CREATE INDEX webhooks_by_app ON webhooks (app_id, created_at, id);

CREATE TABLE webhook_deliveries (
  id              bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  uuid            text COLLATE "C" NOT NULL UNIQUE DEFAULT new_uuid7(),
  webhook_id      text COLLATE "C" NOT NULL REFERENCES webhooks (id),
  event_id        bigint NOT NULL REFERENCES app_events (id),
  subject         text COLLATE "C" NOT NULL,
  state           text COLLATE "C" NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts        bigint NOT NULL DEFAULT 0,
  next_attempt_at bigint NOT NULL,
  last_attempt_at bigint,
  response_status bigint,
  last_error      text COLLATE "C",
  created_at      bigint NOT NULL,
  done_at         bigint
);
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_by_event ON webhook_deliveries (event_id);
CREATE INDEX webhook_deliveries_in_order ON webhook_deliveries (webhook_id, subject, id)
  WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_done ON webhook_deliveries (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at, id, state)
  WHERE state = 'waiting';

-- ==== Ads: the market, campaigns, and what they served ====

CREATE TABLE ad_rates (
  surface_type text COLLATE "C" PRIMARY KEY,
  base_rate    bigint NOT NULL CHECK (base_rate BETWEEN 1 AND 1000000),
  floor_price  bigint NOT NULL CHECK (floor_price BETWEEN 1 AND base_rate),
  demand       bigint NOT NULL DEFAULT 100,
  popularity   bigint NOT NULL DEFAULT 100
);
INSERT INTO ad_rates (surface_type, base_rate, floor_price) VALUES
  ('banner', 10, 5), ('native', 12, 6), ('interstitial', 20, 10), ('video', 25, 12), ('rewarded', 30, 15);

CREATE TABLE ad_placements (
  id           text COLLATE "C" PRIMARY KEY,
  name         text COLLATE "C" NOT NULL,
  surface_type text COLLATE "C" NOT NULL,
  app_id       text COLLATE "C" REFERENCES apps (id),
  description  text COLLATE "C" NOT NULL,
  is_active    bigint NOT NULL CHECK (is_active IN (0, 1)),
  inserted_at  bigint NOT NULL,
  updated_at   bigint NOT NULL
);

CREATE TABLE ad_pricing (
  id              text COLLATE "C" PRIMARY KEY,
  ad_placement_id text COLLATE "C" NOT NULL REFERENCES ad_placements (id),
  base_rate       bigint NOT NULL,
  min_rate        bigint NOT NULL,
  max_rate        bigint NOT NULL,
  effective_from  bigint NOT NULL,
  effective_until bigint,
  inserted_at     bigint NOT NULL,
  updated_at      bigint NOT NULL
);
CREATE INDEX ad_pricing_by_placement ON ad_pricing (ad_placement_id, effective_from, id);

CREATE TABLE audience_segments (
  id          text COLLATE "C" PRIMARY KEY,
  app_id      text COLLATE "C" REFERENCES apps (id),
  name        text COLLATE "C" NOT NULL,
  game_type   text COLLATE "C",
  play_tier   text COLLATE "C",
  geography   text COLLATE "C",
  metadata    text COLLATE "C",
  inserted_at bigint NOT NULL
);
CREATE INDEX audience_segments_by_app ON audience_segments (app_id, id);

CREATE TABLE ad_packages (
  id                  text COLLATE "C" PRIMARY KEY,
  name                text COLLATE "C" NOT NULL,
  description         text COLLATE "C",
  discount_percentage bigint NOT NULL CHECK (discount_percentage BETWEEN 0 AND 90),
  min_surfaces        bigint NOT NULL,
  min_impressions     bigint NOT NULL,
  is_active           bigint NOT NULL CHECK (is_active IN (0, 1)),
  inserted_at         bigint NOT NULL,
  updated_at          bigint NOT NULL
);

CREATE TABLE ad_package_purchases (
  id              text COLLATE "C" PRIMARY KEY,
  ad_package_id   text COLLATE "C" NOT NULL REFERENCES ad_packages (id),
  app_id          text COLLATE "C" NOT NULL REFERENCES apps (id),
  surfaces        text COLLATE "C" NOT NULL,
  subtotal        bigint NOT NULL,
  discount_amount bigint NOT NULL,
  rake_amount     bigint NOT NULL,
  total_charged   bigint NOT NULL,
  status          text COLLATE "C" NOT NULL CHECK (status IN ('completed', 'refunded')),
  inserted_at     bigint NOT NULL,
  updated_at      bigint NOT NULL
);
CREATE INDEX ad_package_purchases_by_app ON ad_package_purchases (app_id, inserted_at, id);

CREATE TABLE campaigns (
  id                 text COLLATE "C" PRIMARY KEY,
  app_id             text COLLATE "C" NOT NULL REFERENCES apps (id),
  owner_id           text COLLATE "C" NOT NULL REFERENCES users (id),
  purchase_id        text COLLATE "C" REFERENCES ad_package_purchases (id),
  name               text COLLATE "C" NOT NULL,
  surface_type       text COLLATE "C" NOT NULL
    CHECK (surface_type IN ('banner', 'video', 'interstitial', 'native', 'rewarded')),
  payout_rate        bigint NOT NULL CHECK (payout_rate BETWEEN 1 AND 9007199254740991),
  targeting_metadata text COLLATE "C",
  status             text COLLATE "C" NOT NULL CHECK (status IN ('active', 'paused', 'exhausted', 'cancelled')),
  end_reason         text COLLATE "C" CHECK (end_reason IN ('exhausted', 'cancelled', 'ended')),
  total_payment      bigint NOT NULL,
  rake               bigint NOT NULL,
  budget             bigint NOT NULL CHECK (budget <= 9007199254740991),
  spent              bigint NOT NULL DEFAULT 0 CHECK (spent BETWEEN 0 AND budget),
  refunded           bigint NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND budget),
  viewer_rewards     bigint NOT NULL DEFAULT 0 CHECK (viewer_rewards BETWEEN 0 AND rake),
  starts_at          bigint,
  ends_at            bigint,
  ended_at           bigint,
  inserted_at        bigint NOT NULL,
  updated_at         bigint NOT NULL,
  CHECK ((status IN ('active', 'paused')) = (end_reason IS NULL))
);
CREATE INDEX campaigns_live ON campaigns (app_id) WHERE status IN ('active', 'paused');
CREATE INDEX campaigns_by_end ON campaigns (ends_at) WHERE status IN ('active', 'paused') AND ends_at IS NOT NULL;
CREATE INDEX campaigns_by_purchase ON campaigns (purchase_id) WHERE purchase_id IS NOT NULL;
CREATE INDEX campaigns_by_app ON campaigns (app_id, inserted_at, id);
CREATE INDEX campaigns_active ON campaigns (id) WHERE status = 'active';
CREATE INDEX campaigns_to_erase ON campaigns (app_id) WHERE status IN ('exhausted', 'cancelled') AND name <> '';

CREATE TABLE campaign_placements (
  id                    text COLLATE "C" PRIMARY KEY,
  campaign_id           text COLLATE "C" NOT NULL REFERENCES campaigns (id),
  ad_placement_id       text COLLATE "C" NOT NULL REFERENCES ad_placements (id),
  allocated_budget      bigint NOT NULL,
  impressions_target    bigint NOT NULL CHECK (impressions_target >= 1),
  impressions_delivered bigint NOT NULL DEFAULT 0,
  status                text COLLATE "C" NOT NULL CHECK (status IN ('active', 'paused', 'depleted')),
  removed_at            bigint,
  inserted_at           bigint NOT NULL,
  updated_at            bigint NOT NULL
);
CREATE UNIQUE INDEX campaign_placements_once ON campaign_placements (campaign_id, ad_placement_id)
  WHERE removed_at IS NULL;
CREATE INDEX campaign_placements_by_campaign ON campaign_placements (campaign_id);
CREATE INDEX campaign_placements_in_order ON campaign_placements (campaign_id, inserted_at, id)
  WHERE removed_at IS NULL;
CREATE INDEX campaign_placements_by_placement
  ON campaign_placements (ad_placement_id, campaign_id) WHERE removed_at IS NULL;

CREATE TABLE placement_segments (
  id                    text COLLATE "C" PRIMARY KEY,
  campaign_placement_id text COLLATE "C" NOT NULL REFERENCES campaign_placements (id),
  segment_type          text COLLATE "C" NOT NULL CHECK (segment_type IN ('game_type', 'play_tier', 'geography')),
  segment_value         text COLLATE "C" NOT NULL,
  match_mode            text COLLATE "C" NOT NULL CHECK (match_mode IN ('exact', 'prefix', 'any')),
  inserted_at           bigint NOT NULL
);
CREATE INDEX placement_segments_by_placement ON placement_segments (campaign_placement_id, inserted_at);

CREATE TABLE ad_impressions (
  id                    text COLLATE "C" PRIMARY KEY,
  token_hash            text COLLATE "C" NOT NULL UNIQUE,
  campaign_id           text COLLATE "C" NOT NULL REFERENCES campaigns (id),
  campaign_placement_id text COLLATE "C" REFERENCES campaign_placements (id),
  app_id                text COLLATE "C" NOT NULL,
  user_id               text COLLATE "C" NOT NULL,
  created_at            bigint NOT NULL,
  expires_at            bigint NOT NULL,
  used_at               bigint
);
CREATE INDEX ad_impressions_open_of_app ON ad_impressions (campaign_id, app_id, expires_at) WHERE used_at IS NULL;
CREATE INDEX ad_impressions_open_of_user ON ad_impressions (campaign_id, app_id, user_id, id) WHERE used_at IS NULL;
CREATE INDEX ad_impressions_open_of_placement ON ad_impressions (campaign_placement_id, expires_at)
  WHERE used_at IS NULL AND campaign_placement_id IS NOT NULL;
CREATE INDEX ad_impressions_unused ON ad_impressions (expires_at) WHERE used_at IS NULL;
CREATE INDEX ad_impressions_used ON ad_impressions (used_at) WHERE used_at IS NOT NULL;

CREATE TABLE ad_events (
  id                   text COLLATE "C" PRIMARY KEY,
  campaign_id          text COLLATE "C" NOT NULL REFERENCES campaigns (id),
  app_id               text COLLATE "C" NOT NULL,
  user_id              text COLLATE "C" NOT NULL,
  event_type           text COLLATE "C" NOT NULL CHECK (event_type IN ('impression', 'click')),
  surface_type         text COLLATE "C" NOT NULL,
  payout_rate_snapshot bigint NOT NULL,
  counted              bigint NOT NULL CHECK (counted IN (0, 1)),
  unpaid_reason        text COLLATE "C",
  viewer_reward        bigint NOT NULL DEFAULT 0,
  impression_id        text COLLATE "C" REFERENCES ad_impressions (id),
  clicked_event_id     text COLLATE "C" REFERENCES ad_events (id),
  inserted_at          bigint NOT NULL,
  CHECK ((counted = 1) = (unpaid_reason IS NULL))
);
CREATE INDEX ad_events_seen ON ad_events (campaign_id, app_id, user_id, id)
  WHERE event_type = 'impression' AND counted = 1;
CREATE UNIQUE INDEX ad_events_one_click ON ad_events (clicked_event_id) WHERE clicked_event_id IS NOT NULL;
CREATE UNIQUE INDEX ad_events_by_impression ON ad_events (impression_id) WHERE impression_id IS NOT NULL;
CREATE INDEX ad_events_by_time ON ad_events (inserted_at);

CREATE TABLE ad_days (
  campaign_id    text COLLATE "C" NOT NULL REFERENCES campaigns (id),
  day            bigint NOT NULL,
  impressions    bigint NOT NULL DEFAULT 0,
  clicks         bigint NOT NULL DEFAULT 0,
  spend          bigint NOT NULL DEFAULT 0,
  viewer_rewards bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (campaign_id, day)
);

CREATE TABLE ad_views (
  user_id     text COLLATE "C" NOT NULL,
  day         bigint NOT NULL,
  campaign_id text COLLATE "C" NOT NULL,
  impressions bigint NOT NULL,
  PRIMARY KEY (user_id, day, campaign_id)
);
CREATE INDEX ad_views_most ON ad_views (user_id, day, impressions);
CREATE INDEX ad_views_by_day ON ad_views (day);

CREATE TABLE ad_demand_days (
  surface_type text COLLATE "C" NOT NULL,
  day          bigint NOT NULL,
  impressions  bigint NOT NULL,
  PRIMARY KEY (surface_type, day)
);

-- ==== People: friends, presence, search, chat ====

CREATE TABLE friendships (
  id           text COLLATE "C" PRIMARY KEY,
  low_id       text COLLATE "C" NOT NULL REFERENCES users (id),
  high_id      text COLLATE "C" NOT NULL REFERENCES users (id),
  requester_id text COLLATE "C" NOT NULL,
  status       text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'accepted', 'rejected', 'removed')),
  asked_at     bigint NOT NULL,
  changed_at   bigint NOT NULL,
  CHECK (low_id < high_id),
  CHECK (requester_id IN (low_id, high_id))
);
CREATE UNIQUE INDEX friendships_by_pair ON friendships (low_id, high_id);
CREATE INDEX friendships_of_low ON friendships (low_id, status, changed_at);
CREATE INDEX friendships_of_high ON friendships (high_id, status, changed_at);

CREATE TABLE blocks (
  blocker_id text COLLATE "C" NOT NULL REFERENCES users (id),
  blocked_id text COLLATE "C" NOT NULL REFERENCES users (id),
  created_at bigint NOT NULL,
  PRIMARY KEY (blocker_id, blocked_id),
  CHECK (blocker_id <> blocked_id)
);
CREATE INDEX blocks_by_blocked ON blocks (blocked_id);
CREATE INDEX blocks_by_time ON blocks (blocker_id, created_at, blocked_id);

CREATE TABLE presence (
  user_id      text COLLATE "C" PRIMARY KEY REFERENCES users (id),
  last_seen    bigint NOT NULL,
  current_game text COLLATE "C",
  lobby        text COLLATE "C",
  has_left     bigint NOT NULL DEFAULT 0 CHECK (has_left IN (0, 1))
);
CREATE INDEX presence_by_place ON presence (last_seen) WHERE current_game IS NOT NULL OR lobby IS NOT NULL;

CREATE UNLOGGED TABLE presence_seats (
  table_id  text COLLATE "C" NOT NULL,
  user_id   text COLLATE "C" NOT NULL,
  sat_at    bigint NOT NULL,
  last_seen bigint NOT NULL,
  has_left  bigint NOT NULL,
  PRIMARY KEY (table_id, user_id)
);
CREATE INDEX presence_seats_by_user ON presence_seats (user_id);
CREATE INDEX presence_seats_by_time ON presence_seats (last_seen);

CREATE TABLE suffix_positions (
  position bigint PRIMARY KEY
);
INSERT INTO suffix_positions (position) SELECT generate_series(2, 31);

CREATE TABLE username_suffixes (
  suffix   text COLLATE "C" NOT NULL,
  user_id  text COLLATE "C" NOT NULL,
  username text COLLATE "C" NOT NULL,
  PRIMARY KEY (suffix, user_id)
);

CREATE TABLE chat_channels (
  id           text COLLATE "C" PRIMARY KEY,
  type         text COLLATE "C" NOT NULL CHECK (type IN ('lobby', 'table')),
  ref_id       text COLLATE "C",
  created_at   bigint NOT NULL,
  abandoned_at bigint
);
CREATE UNIQUE INDEX chat_channels_by_ref ON chat_channels (type, coalesce(ref_id, ''));
CREATE INDEX chat_channels_by_type ON chat_channels (type, id);
CREATE INDEX chat_channels_abandoned ON chat_channels (abandoned_at) WHERE abandoned_at IS NOT NULL;

CREATE TABLE chat_members (
  channel_id text COLLATE "C" NOT NULL REFERENCES chat_channels (id),
  user_id    text COLLATE "C" NOT NULL REFERENCES users (id),
  joined_at  bigint NOT NULL,
  PRIMARY KEY (channel_id, user_id)
);
CREATE INDEX chat_members_by_user ON chat_members (user_id);

CREATE TABLE chat_entries (
  seq           bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  channel_id    text COLLATE "C" NOT NULL REFERENCES chat_channels (id),
  kind          text COLLATE "C" NOT NULL CHECK (kind IN ('message', 'deleted', 'deletion')),
  message_id    text COLLATE "C" NOT NULL,
  sender_id     text COLLATE "C" NOT NULL REFERENCES users (id),
  sealed_body   text COLLATE "C",
  filtered_body text COLLATE "C",
  words_version bigint,
  sent_at       bigint NOT NULL,
  CHECK ((kind = 'message') = (sealed_body IS NOT NULL)),
  CHECK ((kind = 'message') = (filtered_body IS NOT NULL))
);
CREATE UNIQUE INDEX chat_messages_by_id ON chat_entries (message_id) WHERE kind <> 'deletion';
CREATE INDEX chat_entries_by_channel ON chat_entries (channel_id, seq);
CREATE INDEX chat_entries_by_sender ON chat_entries (sender_id, sent_at);
CREATE INDEX chat_entries_by_time ON chat_entries (sent_at);

CREATE TABLE chat_words (
  word text COLLATE "C" PRIMARY KEY
);

CREATE TABLE chat_words_version (
  version bigint NOT NULL
);
INSERT INTO chat_words_version (version) VALUES (1);

-- ==== Items: avatars, what they can wear, and learning modules ====

CREATE TABLE cosmetic_items (
  id           text COLLATE "C" PRIMARY KEY,
  name         text COLLATE "C" NOT NULL,
  description  text COLLATE "C",
  category     text COLLATE "C" NOT NULL
    CHECK (category IN ('hat', 'hair', 'top', 'bottom', 'shoes', 'accessory', 'background', 'frame', 'emote')),
  rarity       text COLLATE "C" NOT NULL CHECK (rarity IN ('common', 'uncommon', 'rare', 'legendary')),
  asset_url    text COLLATE "C",
  price_points bigint NOT NULL CHECK (price_points BETWEEN 0 AND 9007199254740991),
  available    bigint NOT NULL CHECK (available IN (0, 1)),
  inserted_at  bigint NOT NULL,
  updated_at   bigint NOT NULL
);
CREATE INDEX cosmetic_items_by_category ON cosmetic_items (category, id);
CREATE INDEX cosmetic_items_by_time ON cosmetic_items (inserted_at, id);

CREATE TABLE user_cosmetics (
  id           text COLLATE "C" PRIMARY KEY,
  user_id      text COLLATE "C" NOT NULL REFERENCES users (id),
  item_id      text COLLATE "C" NOT NULL REFERENCES cosmetic_items (id),
  acquired_at  bigint NOT NULL,
  acquired_via text COLLATE "C" NOT NULL CHECK (acquired_via IN ('purchase', 'gift', 'achievement', 'promotion')),
  UNIQUE (user_id, item_id)
);
CREATE INDEX user_cosmetics_by_time ON user_cosmetics (user_id, acquired_at, id);

CREATE TABLE avatars (
  id           text COLLATE "C" PRIMARY KEY,
  user_id      text COLLATE "C" NOT NULL UNIQUE REFERENCES users (id),
  display_name text COLLATE "C",
  appearance   text COLLATE "C" NOT NULL DEFAULT '{}',
  created_at   bigint NOT NULL,
  updated_at   bigint NOT NULL
);

CREATE TABLE equipped_cosmetics (
  user_id  text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  item_id  text COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, category),
  FOREIGN KEY (user_id, item_id) REFERENCES user_cosmetics (user_id, item_id)
);

CREATE TABLE learning_modules (
  id                   text COLLATE "C" PRIMARY KEY,
  number               bigint NOT NULL UNIQUE CHECK (number BETWEEN 1 AND 1000000),
  title                text COLLATE "C" NOT NULL,
  description          text COLLATE "C" NOT NULL,
  total                bigint NOT NULL CHECK (total BETWEEN 1 AND 1000000),
  min_seconds          bigint NOT NULL CHECK (min_seconds BETWEEN 0 AND 31536000),
  points               bigint NOT NULL CHECK (points BETWEEN 0 AND 9007199254740991),
  repeat_after_seconds bigint CHECK (repeat_after_seconds BETWEEN 1 AND 315360000),
  active               bigint NOT NULL CHECK (active IN (0, 1)),
  inserted_at          bigint NOT NULL,
  updated_at           bigint NOT NULL
);

CREATE TABLE learning_progress (
  user_id            text COLLATE "C" NOT NULL REFERENCES users (id),
  module_id          text COLLATE "C" NOT NULL REFERENCES learning_modules (id),
  started_at         bigint NOT NULL,
  completed          bigint NOT NULL DEFAULT 0 CHECK (completed >= 0),
  completed_at       bigint,
  repeat_eligible_at bigint,
  first_completed_at bigint,
  PRIMARY KEY (user_id, module_id)
);

CREATE TABLE learning_paths (
  user_id text COLLATE "C" PRIMARY KEY REFERENCES users (id),
  path    text COLLATE "C" NOT NULL
);

-- ==== Functions and triggers ====

-- A delivery for each webhook of the app that wants the event. At most 500 wait for each webhook.
CREATE FUNCTION app_events_to_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhook_deliveries (webhook_id, event_id, subject, next_attempt_at, created_at)
  SELECT w.id, NEW.id, NEW.subject,
         coalesce((SELECT max(d.next_attempt_at) FROM webhook_deliveries d
                   WHERE d.webhook_id = w.id AND d.subject = NEW.subject AND d.state = 'waiting'),
                  NEW.at),
         NEW.at
  FROM webhooks w
  WHERE w.app_id = NEW.app_id
    AND w.ended_at IS NULL
    AND EXISTS (SELECT 1 FROM json_array_elements_text(w.events::json) AS wanted (type)
                WHERE wanted.type = NEW.type)
    AND (SELECT count(*) FROM webhook_deliveries d
         WHERE d.webhook_id = w.id AND d.state = 'waiting') < 500;
  RETURN NULL;
END $$;
CREATE TRIGGER app_events_to_webhooks AFTER INSERT ON app_events
FOR EACH ROW EXECUTE FUNCTION app_events_to_webhooks();

-- The newest 200 events of each subject are kept, and those that are still to be delivered.
CREATE FUNCTION app_events_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM app_events
  WHERE subject = NEW.subject
    AND id <= (SELECT id FROM app_events WHERE subject = NEW.subject
               ORDER BY id DESC LIMIT 1 OFFSET 200)
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = app_events.id);
  RETURN NULL;
END $$;
CREATE TRIGGER app_events_bound AFTER INSERT ON app_events
FOR EACH ROW EXECUTE FUNCTION app_events_bound();

-- The ids of events, and of the entries of a chat channel, rise in the order of their commits. A stream goes on behind
-- the last id that it has read, so it would skip an id that is committed behind a higher one. Whoever takes an id
-- therefore waits for the end of the transaction that took the one before. SQLite has one writer. The trigger runs
-- before the row gets its id.
CREATE FUNCTION app_events_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(1, 0);
  RETURN NULL;
END $$;
CREATE TRIGGER app_events_in_order BEFORE INSERT ON app_events
FOR EACH STATEMENT EXECUTE FUNCTION app_events_in_order();

-- Each channel for itself. The id that the row brings was taken before the lock.
CREATE FUNCTION chat_entries_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(2, hashtext(NEW.channel_id));
  NEW.seq := nextval(pg_get_serial_sequence('chat_entries', 'seq'));
  RETURN NEW;
END $$;
CREATE TRIGGER chat_entries_in_order BEFORE INSERT ON chat_entries
FOR EACH ROW EXECUTE FUNCTION chat_entries_in_order();

-- Clients get the text as it is, so it is the same as SQLite's json_object() makes it.
CREATE FUNCTION deployment_event_data(d deployments, served_domain text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT '{"id":' || to_json(d.id) || ',"status":' || to_json(d.status) || ',"subdomain":' || to_json(d.name)
    || ',"phase":' || to_json(d.phase) || ',"reason":' || coalesce(to_json(d.reason)::text, 'null')
    || ',"cause":' || coalesce(to_json(d.cause)::text, 'null')
    || ',"message":' || coalesce(to_json(d.message)::text, 'null')
    || ',"container_id":' || coalesce(to_json(d.container_id)::text, 'null')
    || ',"health_status":' || coalesce(to_json(d.health_status)::text, 'null')
    || ',"last_health_check":' || coalesce(to_json(d.last_health_check)::text, 'null')
    || ',"served_domain":' || coalesce(to_json(served_domain)::text, 'null') || '}'
$$;

-- Whoever adds an event keeps all others from adding one until the transaction ends. So the events of deployments are
-- added when it is about to be committed, and not with the row, after which there may be several round trips.
CREATE FUNCTION deployments_created() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO app_events (app_id, type, subject, data, at)
  VALUES (NEW.app_id, 'deployment.status', NEW.id, deployment_event_data(NEW, NULL), NEW.inserted_at);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER deployments_created AFTER INSERT ON deployments
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION deployments_created();

CREATE FUNCTION deployments_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO app_events (app_id, type, subject, data, at)
  VALUES (NEW.app_id,
          CASE WHEN OLD.status IS DISTINCT FROM NEW.status OR OLD.reason IS DISTINCT FROM NEW.reason
                 OR OLD.cause IS DISTINCT FROM NEW.cause
                 OR OLD.health_status IS DISTINCT FROM NEW.health_status
               THEN 'deployment.status' ELSE 'deployment.progress' END,
          NEW.id,
          deployment_event_data(NEW, (SELECT c.domain FROM custom_domains c
                                      WHERE c.deployment_id = NEW.id AND c.released_at IS NULL
                                        AND c.state = 'active')),
          NEW.updated_at);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER deployments_changed
AFTER UPDATE OF status, phase, reason, cause, message, container_id, health_status ON deployments
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW
WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.phase IS DISTINCT FROM NEW.phase
  OR OLD.reason IS DISTINCT FROM NEW.reason OR OLD.cause IS DISTINCT FROM NEW.cause
  OR OLD.message IS DISTINCT FROM NEW.message OR OLD.container_id IS DISTINCT FROM NEW.container_id
  OR OLD.health_status IS DISTINCT FROM NEW.health_status)
EXECUTE FUNCTION deployments_changed();

-- A deployment isn't created in an app that is deleted at the same time. Deployments are created by writes with row
-- locks, which don't notice by themselves that a row they have read was changed by another write. So the row of the app
-- is locked, and with it, of a creation and a deletion at the same time, the later one runs again and sees what the
-- earlier one did. All who create deployments of the app wait for this row. Therefore it is changed when the
-- transaction is about to be committed, and after the trigger deployments_created, whose name is before this one's:
-- that waits for the events of others, and here nobody waits any more.
CREATE FUNCTION deployments_in_living_apps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE apps SET updated_at = updated_at WHERE id = NEW.app_id AND deleted_at IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the app was deleted' USING ERRCODE = 'serialization_failure';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER deployments_in_living_apps AFTER INSERT ON deployments
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.status <> 'destroyed')
EXECUTE FUNCTION deployments_in_living_apps();

CREATE FUNCTION webhooks_of_deleted_apps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM webhook_deliveries WHERE webhook_id IN (SELECT id FROM webhooks WHERE app_id = NEW.id);
  DELETE FROM webhooks WHERE app_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER webhooks_of_deleted_apps AFTER UPDATE OF deleted_at ON apps
FOR EACH ROW WHEN (NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION webhooks_of_deleted_apps();

-- Adds the argument to the number of the user's apps.
CREATE FUNCTION count_user_apps(of_user text, change bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO user_apps (user_id, apps) VALUES (of_user, 0) ON CONFLICT DO NOTHING;
  UPDATE user_apps SET apps = apps + change WHERE user_id = of_user;
END $$;

CREATE FUNCTION grants_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_user_apps(NEW.user_id, 1);
  RETURN NULL;
END $$;
CREATE TRIGGER grants_begin AFTER INSERT ON grants
FOR EACH ROW WHEN (NEW.revoked_at IS NULL AND NEW.scopes <> '')
EXECUTE FUNCTION grants_begin();

CREATE FUNCTION grants_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_user_apps(
    NEW.user_id, CASE WHEN NEW.revoked_at IS NULL AND NEW.scopes <> '' THEN 1 ELSE -1 END);
  RETURN NULL;
END $$;
CREATE TRIGGER grants_change AFTER UPDATE OF revoked_at, scopes ON grants
FOR EACH ROW
WHEN ((NEW.revoked_at IS NULL AND NEW.scopes <> '') <> (OLD.revoked_at IS NULL AND OLD.scopes <> ''))
EXECUTE FUNCTION grants_change();

CREATE FUNCTION grants_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_user_apps(OLD.user_id, -1);
  RETURN NULL;
END $$;
CREATE TRIGGER grants_end AFTER DELETE ON grants
FOR EACH ROW WHEN (OLD.revoked_at IS NULL AND OLD.scopes <> '')
EXECUTE FUNCTION grants_end();

CREATE FUNCTION username_suffixes_appear() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO username_suffixes (suffix, user_id, username)
  SELECT substr(NEW.username_key, position::integer), NEW.id, NEW.username FROM suffix_positions
  WHERE position < length(NEW.username_key);
  RETURN NULL;
END $$;
CREATE TRIGGER username_suffixes_appear AFTER INSERT ON users
FOR EACH ROW WHEN (NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL)
EXECUTE FUNCTION username_suffixes_appear();

CREATE FUNCTION username_suffixes_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM username_suffixes WHERE user_id = OLD.id
    AND suffix IN (SELECT substr(OLD.username_key, position::integer) FROM suffix_positions);
  INSERT INTO username_suffixes (suffix, user_id, username)
  SELECT substr(NEW.username_key, position::integer), NEW.id, NEW.username FROM suffix_positions
  WHERE position < length(NEW.username_key) AND NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER username_suffixes_change
AFTER UPDATE OF username, username_key, deleted_at, suspended_at ON users
FOR EACH ROW EXECUTE FUNCTION username_suffixes_change();

-- The place of a transaction in its millisecond (ledger/numbers.h), if it comes with the first one. Reading the last
-- place that is taken would make all writes of a millisecond collide.
CREATE SEQUENCE ledger_places MINVALUE 0 MAXVALUE 1048575 CYCLE;
CREATE FUNCTION ledger_transactions_places() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.number := NEW.number + nextval('ledger_places');
  RETURN NEW;
END $$;
CREATE TRIGGER ledger_transactions_places BEFORE INSERT ON ledger_transactions
FOR EACH ROW WHEN (NEW.number % 1048576 = 0)
EXECUTE FUNCTION ledger_transactions_places();

-- The argument is what the table's rows are.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% are append-only', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER ledger_postings_stay BEFORE UPDATE ON ledger_postings
FOR EACH ROW EXECUTE FUNCTION refuse_change('postings');
CREATE TRIGGER ledger_postings_remain BEFORE DELETE ON ledger_postings
FOR EACH ROW EXECUTE FUNCTION refuse_change('postings');
-- A memo may be emptied, and nothing else ever changes.
CREATE TRIGGER ledger_transactions_stay BEFORE UPDATE ON ledger_transactions
FOR EACH ROW
WHEN (NEW.number IS DISTINCT FROM OLD.number OR NEW.id_high IS DISTINCT FROM OLD.id_high
  OR NEW.id_low IS DISTINCT FROM OLD.id_low OR NEW.kind IS DISTINCT FROM OLD.kind OR NEW.memo <> '')
EXECUTE FUNCTION refuse_change('transactions');
CREATE TRIGGER ledger_transactions_remain BEFORE DELETE ON ledger_transactions
FOR EACH ROW EXECUTE FUNCTION refuse_change('transactions');
CREATE TRIGGER ledger_kinds_stay BEFORE UPDATE ON ledger_kinds
FOR EACH ROW EXECUTE FUNCTION refuse_change('kinds');
CREATE TRIGGER ledger_kinds_remain BEFORE DELETE ON ledger_kinds
FOR EACH ROW EXECUTE FUNCTION refuse_change('kinds');
