-- 0001_schema.sql: the schema of version 1.0.0, which every database begins with. Later changes are migrations
-- (CONTRIBUTING.md). Its tables stand in the order of PostgreSQL's file of the same name.
--
-- Times are milliseconds since 1970 in UTC, days are days since 1970 in UTC, and flags are 0 or 1. Amounts are whole
-- points of at most 2^53-1, so that JSON numbers hold them and sums can't turn into a REAL. Scope lists are names with
-- one space between them, in the order of the specification.
--
-- There is an index for each order and each filter that a list can be asked for, so that a page costs the same wherever
-- it is and however long the list has become. Partial indexes also have the columns of their conditions where rows are
-- only counted.

-- ==== The database as a whole ====

-- Facts about the whole database: the instance id, write probes.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- The berthd processes on one database. Empty on SQLite, where there is one.
CREATE TABLE replicas (
  id        TEXT PRIMARY KEY,  -- of one run of the process
  beats     INTEGER NOT NULL,  -- rises each second; one that doesn't rise any more is a process that died
  beaten_at INTEGER NOT NULL
) STRICT;

-- Which berthd runs which loop. Without a foreign key: a berthd whose row was removed by mistake beats again, and its
-- loops have been taken by then.
CREATE TABLE loop_leases (
  name     TEXT PRIMARY KEY,
  owner_id TEXT NOT NULL,  -- of the berthd that runs it
  taken_at INTEGER NOT NULL
) STRICT;

-- What admins did. Ids begin with the time.
CREATE TABLE audit_log (
  id      TEXT PRIMARY KEY,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  target  TEXT NOT NULL,
  details TEXT NOT NULL,  -- a JSON object
  at      INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_log_by_target ON audit_log (target, id);
CREATE INDEX audit_log_by_actor ON audit_log (actor, id);
CREATE INDEX audit_log_by_action ON audit_log (action, id);

-- Mail that waits to be sent. A body holds a token, so it is sealed with the data key. A row waits until it is sent or
-- has failed for good; some time after that it is removed.
CREATE TABLE outbox (
  id              TEXT PRIMARY KEY,
  to_address      TEXT NOT NULL,
  subject         TEXT NOT NULL,
  sealed          TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  sent_at         INTEGER,
  attempts        INTEGER NOT NULL DEFAULT 0,
  -- Not before; 0: at once. Set before each attempt, so that one that kills berthd counts as well.
  next_attempt_at INTEGER NOT NULL DEFAULT 0,
  failed_at       INTEGER,
  last_error      TEXT  -- the mail server's words, or ours
) STRICT;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;
CREATE INDEX outbox_failed ON outbox (failed_at) WHERE failed_at IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (next_attempt_at, created_at, sent_at, failed_at)
  WHERE sent_at IS NULL AND failed_at IS NULL;
CREATE INDEX outbox_by_address ON outbox (to_address);
CREATE INDEX outbox_by_time ON outbox (created_at, id);

-- The first answer to a request with an Idempotency-Key, for 24 hours. It commits with the effect.
CREATE TABLE idempotency_keys (
  principal    TEXT NOT NULL,  -- user:…, app:…:user:…, internal
  method       TEXT NOT NULL,
  path         TEXT NOT NULL,
  key          TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  status       INTEGER NOT NULL,
  body         TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (principal, method, path, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);

-- The body of an answer that is too long to be kept once for each Idempotency-Key. The keys name its hash.
CREATE TABLE idempotency_bodies (
  principal TEXT NOT NULL,  -- as in idempotency_keys
  body_hash TEXT NOT NULL,
  body      TEXT NOT NULL,
  used_at   INTEGER NOT NULL,  -- when the newest key got it
  PRIMARY KEY (principal, body_hash)
) STRICT;
CREATE INDEX idempotency_bodies_by_time ON idempotency_bodies (used_at);

-- How much accounts and networks have stored on a day. Only counts that are a good part of their budget are here; the
-- others are in memory.
CREATE TABLE write_counts (
  day          INTEGER NOT NULL,  -- since 1970, in UTC
  subject_hash TEXT NOT NULL,  -- an HMAC with the data key of an account or network, and of what it stores
  bytes        INTEGER NOT NULL,
  row_count    INTEGER NOT NULL,
  PRIMARY KEY (day, subject_hash)
) STRICT, WITHOUT ROWID;

-- ==== Accounts ====

CREATE TABLE users (
  id                   TEXT PRIMARY KEY,
  email                TEXT NOT NULL,
  email_key            TEXT NOT NULL UNIQUE,  -- the canonical form (base/mail_address.h): one account for each mailbox
  username             TEXT NOT NULL,
  username_key         TEXT NOT NULL UNIQUE,  -- folded, so that Anna can't pose as anna
  password_hash        TEXT NOT NULL,  -- argon2id, PHC string
  tier                 TEXT NOT NULL DEFAULT 'free',
  is_admin             INTEGER NOT NULL DEFAULT 0 CHECK (is_admin IN (0, 1)),
  email_verified_at    INTEGER,
  totp_enabled_at      INTEGER,
  referral_code        TEXT NOT NULL UNIQUE,
  referred_by          TEXT REFERENCES users (id),
  registration_number  INTEGER NOT NULL UNIQUE,  -- 1, 2, 3, … without gaps: the bonus depends on it
  signup_multiplier    INTEGER NOT NULL CHECK (signup_multiplier >= 1),
  suspended_at         INTEGER,
  created_at           INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL,
  -- The ledger, audit rows and referrals go on naming a user who is gone, so the row stays; what says who it was is
  -- overwritten.
  deleted_at           INTEGER,
  -- What the treasury paid when the address was verified; paid once, summed up by day for the cap.
  signup_bonus         INTEGER CHECK (signup_bonus BETWEEN 0 AND 9007199254740991),
  signup_bonus_at      INTEGER,
  -- Who brought somebody is rewarded once, after the other has really used the service.
  referral_rewarded_at INTEGER,
  -- What the treasury gave the user, and, while that is undecided, what somebody who was brought spent in apps of
  -- others.
  free_points          INTEGER NOT NULL DEFAULT 0 CHECK (free_points BETWEEN 0 AND 9007199254740991),
  referral_spent       INTEGER NOT NULL DEFAULT 0 CHECK (referral_spent BETWEEN 0 AND 9007199254740991),
  -- Signed up within a year of deleting an account: neither the user nor who brought them gets anything for it.
  is_returning         INTEGER NOT NULL DEFAULT 0 CHECK (is_returning IN (0, 1)),
  direct_referrals     INTEGER NOT NULL DEFAULT 0 CHECK (direct_referrals >= 0),
  -- How many points of their own the user has spent in other people's apps. It isn't counted beyond what makes a bonus
  -- their own.
  own_spent            INTEGER NOT NULL DEFAULT 0 CHECK (own_spent BETWEEN 0 AND 100),
  -- How many bonus points of others have reached the user since the time.
  bonus_received       INTEGER NOT NULL DEFAULT 0 CHECK (bonus_received >= 0),
  bonus_since          INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX users_by_referrer ON users (referred_by) WHERE referred_by IS NOT NULL;
CREATE INDEX users_by_bonus_time ON users (signup_bonus_at) WHERE signup_bonus_at IS NOT NULL;
CREATE INDEX users_living ON users (registration_number, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX users_by_address ON users (email_key, id, deleted_at) WHERE deleted_at IS NULL;
-- For the search of users and that of admins.
CREATE INDEX users_searchable ON users (username_key, id, username, deleted_at, suspended_at)
  WHERE deleted_at IS NULL;

-- Links that were mailed. Only the hash of a token is kept.
CREATE TABLE email_tokens (
  token_hash TEXT PRIMARY KEY,
  user_id    TEXT NOT NULL REFERENCES users (id),
  purpose    TEXT NOT NULL CHECK (purpose IN ('verify_email', 'reset_password')),
  expires_at INTEGER NOT NULL,
  used_at    INTEGER,
  -- Mails of a kind are counted by hour.
  created_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX email_tokens_by_expiry ON email_tokens (expires_at);
CREATE INDEX email_tokens_by_user ON email_tokens (user_id, purpose, created_at);

-- Requests for another address, for a week: so long the old one can undo the change.
CREATE TABLE email_changes (
  stop_hash    TEXT PRIMARY KEY,  -- of the token that was mailed to the old address
  confirm_hash TEXT UNIQUE,  -- of the token that was mailed to the new one; NULL: used or withdrawn
  user_id      TEXT NOT NULL REFERENCES users (id),
  old_email    TEXT NOT NULL,
  old_key      TEXT NOT NULL,  -- nobody else may take it meanwhile
  old_verified INTEGER NOT NULL CHECK (old_verified IN (0, 1)),
  new_email    TEXT NOT NULL,
  asked_at     INTEGER NOT NULL,
  confirmed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX email_changes_by_user ON email_changes (user_id, asked_at);
CREATE INDEX email_changes_by_old_key ON email_changes (old_key);
CREATE INDEX email_changes_by_time ON email_changes (asked_at);

-- Who asks for a new password is answered later, by a loop, so that the time of the request's answer doesn't tell
-- whether the address has an account.
CREATE TABLE reset_requests (
  id       TEXT PRIMARY KEY,
  address  TEXT NOT NULL,  -- as it was typed; most likely, but not always, of an account
  asked_at INTEGER NOT NULL
) STRICT;

-- Letters of a UTC day to an address that nobody has verified, whoever asked for them: such an address may be a
-- victim's. By a hash, since the account may be deleted meanwhile.
CREATE TABLE unverified_letters (
  address_hash TEXT NOT NULL,
  day          INTEGER NOT NULL,  -- since 1970
  letters      INTEGER NOT NULL,
  PRIMARY KEY (address_hash, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX unverified_letters_by_day ON unverified_letters (day);

-- A session JWT names its row here, so that it can be revoked before it expires.
CREATE TABLE sessions (
  id               TEXT PRIMARY KEY,
  user_id          TEXT NOT NULL REFERENCES users (id),
  address          TEXT NOT NULL,
  user_agent       TEXT NOT NULL,
  created_at       INTEGER NOT NULL,
  expires_at       INTEGER NOT NULL,
  revoked_at       INTEGER,
  -- A session that is left alone ends before its time, where it was opened with a limit.
  idle_timeout     INTEGER CHECK (idle_timeout > 0),  -- ms; NULL: no limit
  -- As it was known some seconds ago: the newest is in memory. NULL: not since it was opened.
  last_used_at     INTEGER,
  -- When the user last proved a password or a second factor in the session.
  authenticated_at INTEGER NOT NULL DEFAULT 0,
  -- When the user last proved the second factor in the session. Admins need a recent proof before the console may act
  -- for them.
  second_factor_at INTEGER
) STRICT;
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX sessions_by_user ON sessions (user_id, created_at, id);

-- RFC 6238. It counts once users.totp_enabled_at is set.
CREATE TABLE totp_secrets (
  user_id       TEXT PRIMARY KEY REFERENCES users (id),
  sealed_secret TEXT NOT NULL,  -- with the data key
  last_step     INTEGER NOT NULL DEFAULT 0,  -- of the newest code that was accepted: each works once
  created_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Single use: a code that was used is deleted.
CREATE TABLE recovery_codes (
  user_id   TEXT NOT NULL REFERENCES users (id),
  code_hash TEXT NOT NULL,  -- HMAC with the data key: the codes are too short for a bare hash
  PRIMARY KEY (user_id, code_hash)
) STRICT, WITHOUT ROWID;

-- Networks that the user has logged in from: those may go on trying while strangers are held off.
CREATE TABLE login_networks (
  user_id TEXT NOT NULL REFERENCES users (id),
  network TEXT NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, network)
) STRICT, WITHOUT ROWID;
-- For the removal of old rows.
CREATE INDEX login_networks_by_time ON login_networks (last_at);

-- Failed logins, counted for all processes on one database. Empty on SQLite, where one process counts in memory.
CREATE TABLE login_failures (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  key_hash  TEXT NOT NULL,  -- an HMAC with a key that comes from the data key
  failed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX login_failures_by_key ON login_failures (key_hash, failed_at);
CREATE INDEX login_failures_by_time ON login_failures (failed_at);

-- A deleted account's address is no new person's for a year.
CREATE TABLE deleted_addresses (
  address_hash TEXT PRIMARY KEY,  -- HMAC with the data key: addresses can be guessed
  deleted_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deleted_addresses_by_time ON deleted_addresses (deleted_at);

-- Names of users and apps that were given up stay reserved for 90 days.
CREATE TABLE given_up_names (
  kind        TEXT NOT NULL CHECK (kind IN ('user', 'app')),
  name_hash   TEXT NOT NULL,  -- SHA-256: the name goes with the account
  owner_id    TEXT,  -- who may take it back; NULL: nobody, the account was deleted
  given_up_at INTEGER NOT NULL,
  PRIMARY KEY (kind, name_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX given_up_names_by_time ON given_up_names (given_up_at);
CREATE INDEX given_up_names_by_owner ON given_up_names (owner_id, kind, given_up_at);

-- Accounts that were deleted and of whose words something may be left. It is emptied in batches; see
-- controller/domain/lifecycle/erasure.h.
CREATE TABLE erasures (
  user_id TEXT PRIMARY KEY REFERENCES users (id),
  due_at  INTEGER NOT NULL  -- not before
) STRICT, WITHOUT ROWID;
CREATE INDEX erasures_due ON erasures (due_at);

-- ==== Apps of operators, and what users allowed them (RFC 6749, RFC 7636, RFC 9700) ====

CREATE TABLE apps (
  id                         TEXT PRIMARY KEY,
  owner_id                   TEXT NOT NULL REFERENCES users (id),
  app_name                   TEXT NOT NULL,
  app_description            TEXT NOT NULL DEFAULT '',
  logo_url                   TEXT,
  website_url                TEXT,
  client_id                  TEXT NOT NULL UNIQUE,
  client_secret_hash         TEXT NOT NULL,
  redirect_uris              TEXT NOT NULL,  -- a JSON array
  allowed_scopes             TEXT NOT NULL,  -- what it registered that it may ask for
  approved_scopes            TEXT NOT NULL,  -- what it may get now, beside the automatic ones
  listed                     INTEGER NOT NULL DEFAULT 0 CHECK (listed IN (0, 1)),
  promoted_tier              TEXT,  -- the deploy tier that an admin promoted it to
  suspended_at               INTEGER,
  inserted_at                INTEGER NOT NULL,
  updated_at                 INTEGER NOT NULL,
  -- The secret before the last rotation, for as long as `secret-grace` lets it work.
  previous_secret_hash       TEXT,
  previous_secret_expires_at INTEGER,
  -- Deployments and the ledger go on naming an app that was deleted, so its row stays.
  deleted_at                 INTEGER,
  -- What the app decides for itself: whether it takes session tokens, and whether POST /api/auth/refresh asks for its
  -- client credentials.
  session_tokens             INTEGER NOT NULL DEFAULT 1 CHECK (session_tokens IN (0, 1)),
  refresh_requires_client    INTEGER NOT NULL DEFAULT 0 CHECK (refresh_requires_client IN (0, 1)),
  -- Apps without a secret (public clients, RFC 6749, section 2.1), and berth's own one, which works for all apps of the
  -- person who is logged in.
  is_public                  INTEGER NOT NULL DEFAULT 0 CHECK (is_public IN (0, 1)),
  built_in                   INTEGER NOT NULL DEFAULT 0 CHECK (built_in IN (0, 1))
) STRICT;
CREATE INDEX apps_by_owner ON apps (owner_id, inserted_at);
CREATE INDEX apps_deleted ON apps (id) WHERE deleted_at IS NOT NULL;
CREATE INDEX apps_public ON apps (inserted_at, id, listed, deleted_at, suspended_at)
  WHERE listed = 1 AND deleted_at IS NULL AND suspended_at IS NULL;
CREATE INDEX apps_owned ON apps (owner_id, inserted_at, id) WHERE deleted_at IS NULL;
CREATE INDEX apps_living ON apps (inserted_at, id, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX apps_by_lower_name ON apps (lower(app_name), id, deleted_at) WHERE deleted_at IS NULL;

-- The web origins from which an app's pages may call the API (CORS).
CREATE TABLE app_origins (
  app_id TEXT NOT NULL REFERENCES apps (id),
  origin TEXT NOT NULL,  -- as browsers send it: scheme://host, and :port if it isn't the scheme's own
  PRIMARY KEY (app_id, origin)
) STRICT, WITHOUT ROWID;
CREATE INDEX app_origins_by_origin ON app_origins (origin);

-- How many users have a consent to the app at present.
CREATE TABLE app_users (
  app_id TEXT PRIMARY KEY REFERENCES apps (id),
  users  INTEGER NOT NULL CHECK (users >= 0)
) STRICT, WITHOUT ROWID;

-- Deleted apps whose campaigns, segments and requests for scopes still say something.
CREATE TABLE app_erasures (
  app_id TEXT PRIMARY KEY REFERENCES apps (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE scope_requests (
  id               TEXT PRIMARY KEY,
  app_id           TEXT NOT NULL REFERENCES apps (id),
  requested_scopes TEXT NOT NULL,
  status           TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'withdrawn')),
  reason           TEXT,
  decided_by       TEXT,
  decided_at       INTEGER,
  inserted_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX scope_requests_by_time ON scope_requests (inserted_at, id);
CREATE INDEX scope_requests_by_app ON scope_requests (app_id, inserted_at, id);
CREATE INDEX scope_requests_by_status ON scope_requests (status, inserted_at, id);
CREATE INDEX scope_requests_by_app_and_status ON scope_requests (app_id, status, inserted_at, id);

-- One row for each user and app: the consent. Revoking it ends every family below it.
CREATE TABLE grants (
  id                TEXT PRIMARY KEY,
  app_id            TEXT NOT NULL REFERENCES apps (id),
  user_id           TEXT NOT NULL REFERENCES users (id),
  scopes            TEXT NOT NULL,
  connected_at      INTEGER NOT NULL,
  revoked_at        INTEGER,
  -- What the user allows the app to spend in a UTC day; NULL: no limit. Empty `scopes`: nobody consented to anything,
  -- the row is there for the tokens that the app got by itself (client_credentials).
  daily_spend_limit INTEGER CHECK (daily_spend_limit BETWEEN 0 AND 9007199254740991),
  spent_day         INTEGER,  -- days since 1970, in UTC
  spent_on_day      INTEGER NOT NULL DEFAULT 0 CHECK (spent_on_day BETWEEN 0 AND 9007199254740991),
  last_used_at      INTEGER,
  -- What the user allows the app's session tokens: to act as the user, or only to read.
  session_access    TEXT NOT NULL DEFAULT 'full' CHECK (session_access IN ('full', 'read')),
  UNIQUE (app_id, user_id)
) STRICT;
CREATE INDEX grants_by_user ON grants (user_id);
CREATE INDEX grants_revoked ON grants (revoked_at) WHERE revoked_at IS NOT NULL;
-- For the numbers of users who came or were active lately.
CREATE INDEX grants_by_app_connection ON grants (app_id, connected_at) WHERE scopes <> '';
CREATE INDEX grants_by_app_use ON grants (app_id, coalesce(last_used_at, connected_at), connected_at)
  WHERE scopes <> '';
CREATE INDEX grants_connected ON grants (user_id, connected_at, id)
  WHERE revoked_at IS NULL AND scopes <> '';
CREATE INDEX grants_of_app ON grants (app_id, revoked_at) WHERE revoked_at IS NULL;

-- How many apps a user has connected at present. The triggers of `grants` keep it.
CREATE TABLE user_apps (
  user_id TEXT PRIMARY KEY REFERENCES users (id),
  apps    INTEGER NOT NULL CHECK (apps >= 0)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER grants_begin AFTER INSERT ON grants
WHEN NEW.revoked_at IS NULL AND NEW.scopes <> ''
BEGIN
  INSERT OR IGNORE INTO user_apps (user_id, apps) VALUES (NEW.user_id, 0);
  UPDATE user_apps SET apps = apps + 1 WHERE user_id = NEW.user_id;
END;
CREATE TRIGGER grants_change AFTER UPDATE OF revoked_at, scopes ON grants
WHEN (NEW.revoked_at IS NULL AND NEW.scopes <> '') <> (OLD.revoked_at IS NULL AND OLD.scopes <> '')
BEGIN
  INSERT OR IGNORE INTO user_apps (user_id, apps) VALUES (NEW.user_id, 0);
  UPDATE user_apps
  SET apps = apps + CASE WHEN NEW.revoked_at IS NULL AND NEW.scopes <> '' THEN 1 ELSE -1 END
  WHERE user_id = NEW.user_id;
END;
CREATE TRIGGER grants_end AFTER DELETE ON grants
WHEN OLD.revoked_at IS NULL AND OLD.scopes <> ''
BEGIN
  UPDATE user_apps SET apps = apps - 1 WHERE user_id = OLD.user_id;
END;

-- Everything that came from one authorization: its refresh tokens follow one another.
CREATE TABLE token_families (
  id         TEXT PRIMARY KEY,
  grant_id   TEXT NOT NULL REFERENCES grants (id),
  scopes     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,  -- the absolute life, however often it is refreshed
  revoked_at INTEGER
) STRICT;
CREATE INDEX token_families_by_expiry ON token_families (expires_at);
CREATE INDEX token_families_revoked ON token_families (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX token_families_by_grant ON token_families (grant_id, created_at, id);
CREATE INDEX token_families_living ON token_families (grant_id, created_at, id)
  WHERE revoked_at IS NULL;

CREATE TABLE authorization_codes (
  code_hash      TEXT PRIMARY KEY,
  grant_id       TEXT NOT NULL REFERENCES grants (id),
  redirect_uri   TEXT NOT NULL,
  scopes         TEXT NOT NULL,
  code_challenge TEXT NOT NULL,  -- S256 (RFC 7636, section 4.2)
  expires_at     INTEGER NOT NULL,
  used_at        INTEGER,
  family_id      TEXT REFERENCES token_families (id),  -- what it gave: revoked if it comes twice
  -- Whether the user was told of a session when the code was given. An app that starts to take session tokens
  -- afterwards gets none for this code.
  with_session   INTEGER NOT NULL DEFAULT 1 CHECK (with_session IN (0, 1))
) STRICT;
-- A used code stays as long as the family that it gave, so that its second use revokes it; the others end by their
-- time.
CREATE INDEX authorization_codes_unused ON authorization_codes (expires_at) WHERE family_id IS NULL;
CREATE INDEX authorization_codes_by_family ON authorization_codes (family_id)
  WHERE family_id IS NOT NULL;
CREATE INDEX authorization_codes_by_grant ON authorization_codes (grant_id);

CREATE TABLE access_tokens (
  token_hash TEXT PRIMARY KEY,
  family_id  TEXT NOT NULL REFERENCES token_families (id),
  expires_at INTEGER NOT NULL,
  scopes     TEXT,  -- where it was asked for less than its family has
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX access_tokens_by_family ON access_tokens (family_id);
CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);

CREATE TABLE refresh_tokens (
  token_hash  TEXT PRIMARY KEY,
  family_id   TEXT NOT NULL REFERENCES token_families (id),
  expires_at  INTEGER NOT NULL,
  consumed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX refresh_tokens_by_family ON refresh_tokens (family_id);
CREATE INDEX refresh_tokens_by_expiry ON refresh_tokens (expires_at);

-- Requests of devices without a browser (RFC 8628). They live for ten minutes.
CREATE TABLE device_codes (
  device_code_hash TEXT PRIMARY KEY,
  user_code_hash   TEXT NOT NULL UNIQUE,  -- HMAC with the data key: the codes are too short for a bare hash
  app_id           TEXT NOT NULL REFERENCES apps (id),
  scopes           TEXT NOT NULL,
  address          TEXT NOT NULL,  -- where it was asked from, for the person who decides
  user_agent       TEXT NOT NULL,
  created_at       INTEGER NOT NULL,
  expires_at       INTEGER NOT NULL,
  poll_interval    INTEGER NOT NULL,  -- milliseconds
  polled_at        INTEGER,
  grant_id         TEXT,  -- the consent, once somebody has allowed it
  denied_at        INTEGER,
  -- The networks from which devices ask, so that each of them has a share of the requests that may wait at a time.
  narrow_network   TEXT NOT NULL DEFAULT '',  -- IPv4 address, IPv6 /64
  middle_network   TEXT NOT NULL DEFAULT '',  -- IPv4 /24, IPv6 /56
  wide_network     TEXT NOT NULL DEFAULT ''  -- IPv6 /48; '' for IPv4
) STRICT, WITHOUT ROWID;
CREATE INDEX device_codes_by_expiry ON device_codes (expires_at);
-- What a device was allowed ends together with everything else of the user.
CREATE INDEX device_codes_by_grant ON device_codes (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX device_codes_by_narrow_network ON device_codes (narrow_network);
CREATE INDEX device_codes_by_middle_network ON device_codes (middle_network);
CREATE INDEX device_codes_by_wide_network ON device_codes (wide_network);

-- Which programs have logged in by berth's own client, for the user who wants to know and end them.
CREATE TABLE devices (
  family_id    TEXT PRIMARY KEY REFERENCES token_families (id),
  name         TEXT NOT NULL,  -- what the program called its machine; empty if it said nothing
  program      TEXT NOT NULL,  -- its User-Agent
  address      TEXT NOT NULL,  -- where it last got tokens
  last_used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A user's time in an app. Its token (st_live_) is replaced when it is refreshed.
CREATE TABLE play_sessions (
  id                TEXT PRIMARY KEY,
  family_id         TEXT NOT NULL REFERENCES token_families (id),
  token_hash        TEXT NOT NULL UNIQUE,
  started_at        INTEGER NOT NULL,
  expires_at        INTEGER NOT NULL,
  last_heartbeat_at INTEGER,
  ended_at          INTEGER,
  points_earned     INTEGER NOT NULL DEFAULT 0 CHECK (points_earned BETWEEN 0 AND 9007199254740991),
  -- Time that isn't a whole minute yet; each whole one earns the session's reward.
  unpaid_ms         INTEGER NOT NULL DEFAULT 0 CHECK (unpaid_ms BETWEEN 0 AND 59999)
) STRICT, WITHOUT ROWID;
CREATE INDEX play_sessions_by_family ON play_sessions (family_id);
CREATE INDEX play_sessions_by_expiry ON play_sessions (expires_at);

-- Up to when a user's time has counted, in whichever app: nobody earns twice in one minute.
CREATE TABLE play_time (
  user_id       TEXT PRIMARY KEY REFERENCES users (id),
  counted_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- ==== The ledger: double entry, append-only; the only place that a balance comes from ====

-- The kinds of transactions. They are append-only, too.
CREATE TABLE ledger_kinds (
  number INTEGER PRIMARY KEY,
  kind   TEXT NOT NULL UNIQUE  -- mint, deployment, …
) STRICT;
CREATE TRIGGER ledger_kinds_stay BEFORE UPDATE ON ledger_kinds
BEGIN SELECT RAISE(ABORT, 'kinds are append-only'); END;
CREATE TRIGGER ledger_kinds_remain BEFORE DELETE ON ledger_kinds
BEGIN SELECT RAISE(ABORT, 'kinds are append-only'); END;

CREATE TABLE ledger_accounts (
  id       TEXT PRIMARY KEY,
  kind     TEXT NOT NULL CHECK (kind IN ('user', 'app', 'treasury', 'campaign', 'reservation', 'issuance')),
  owner    TEXT NOT NULL,  -- of the kind: a user's id, an app's id, …; empty for treasury and issuance
  balance  INTEGER NOT NULL DEFAULT 0 CHECK (abs(balance) <= 9007199254740991),
  -- All points that ever came to the account and that ever left it. The balance is the difference.
  credited INTEGER NOT NULL DEFAULT 0 CHECK (credited >= 0),
  debited  INTEGER NOT NULL DEFAULT 0 CHECK (debited >= 0),
  -- Postings refer to it, because it is shorter than the id.
  number   INTEGER NOT NULL DEFAULT 0,
  -- How many of the account's points are a bonus, given by the treasury for nothing. They reach other accounts only
  -- within bounds (controller/domain/accounts/bonuses.h). A bonus isn't checked against the balance here, because the
  -- two change in different statements; the audit compares them.
  bonus    INTEGER NOT NULL DEFAULT 0 CHECK (bonus >= 0),
  UNIQUE (kind, owner),
  -- Issuance is minus what was minted; nobody else can owe.
  CHECK (balance >= 0 OR kind = 'issuance')
) STRICT;
-- Always empty in a sound ledger, so the audit sees at once whether an account is wrong.
CREATE INDEX ledger_accounts_that_differ ON ledger_accounts (id) WHERE balance <> credited - debited;
CREATE UNIQUE INDEX ledger_accounts_by_number ON ledger_accounts (number);

-- The number has the transaction's time in milliseconds in its upper bits, and its place among those of the same
-- millisecond in the lower 20; see controller/domain/ledger/numbers.h.
CREATE TABLE ledger_transactions (
  number  INTEGER PRIMARY KEY,
  id_high INTEGER NOT NULL,  -- the upper and the lower 64 bits of the UUID
  id_low  INTEGER NOT NULL,
  kind    INTEGER NOT NULL REFERENCES ledger_kinds (number),
  memo    TEXT NOT NULL
) STRICT;
-- A memo may be emptied, and nothing else ever changes.
CREATE TRIGGER ledger_transactions_stay BEFORE UPDATE ON ledger_transactions
WHEN NEW.number IS NOT OLD.number OR NEW.id_high IS NOT OLD.id_high OR NEW.id_low IS NOT OLD.id_low
  OR NEW.kind IS NOT OLD.kind OR NEW.memo <> ''
BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;
CREATE TRIGGER ledger_transactions_remain BEFORE DELETE ON ledger_transactions
BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;

-- The key is the order of an account's history: what came in, and what went out, newest last.
CREATE TABLE ledger_postings (
  account_number     INTEGER NOT NULL REFERENCES ledger_accounts (number),
  incoming           INTEGER NOT NULL CHECK (incoming IN (0, 1)),
  transaction_number INTEGER NOT NULL REFERENCES ledger_transactions (number),
  leg                INTEGER NOT NULL CHECK (leg >= 0),  -- its place in the transaction, from 0
  kind               INTEGER NOT NULL,  -- of the transaction
  amount             INTEGER NOT NULL CHECK (amount <> 0 AND abs(amount) <= 9007199254740991),
  PRIMARY KEY (account_number, incoming, transaction_number, leg),
  CHECK ((incoming = 1) = (amount > 0))
) STRICT, WITHOUT ROWID;
-- With the amount, so that a transaction is added up in the index alone.
CREATE UNIQUE INDEX ledger_postings_of_transaction
  ON ledger_postings (transaction_number, leg, amount);
CREATE INDEX ledger_postings_of_kind
  ON ledger_postings (account_number, incoming, kind, transaction_number, leg);
CREATE TRIGGER ledger_postings_stay BEFORE UPDATE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'postings are append-only'); END;
CREATE TRIGGER ledger_postings_remain BEFORE DELETE ON ledger_postings
BEGIN SELECT RAISE(ABORT, 'postings are append-only'); END;

-- What was credited to an account and isn't in its row and those of its days yet (ledger/pending_rows.h). SQLite has
-- one writer, so the table is empty, except in a database that came from PostgreSQL, until berthd starts on it.
CREATE TABLE ledger_pending (
  account_number     INTEGER NOT NULL,
  transaction_number INTEGER NOT NULL,
  leg                INTEGER NOT NULL,
  kind               INTEGER NOT NULL,
  amount             INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  PRIMARY KEY (account_number, transaction_number, leg)
) STRICT, WITHOUT ROWID;

-- What had ever come to the account and left it at the end of a day on which something was posted on it, as one reads a
-- meter. So a row gives the balance of its day, and two rows give what happened between them.
CREATE TABLE ledger_days (
  account_id TEXT NOT NULL REFERENCES ledger_accounts (id),
  day        INTEGER NOT NULL,
  credited   INTEGER NOT NULL,
  debited    INTEGER NOT NULL,
  PRIMARY KEY (account_id, day)
) STRICT, WITHOUT ROWID;

-- What was posted on a day with transactions of one kind, on accounts of apps, of the treasury and of issuance.
CREATE TABLE ledger_kind_days (
  account_id TEXT NOT NULL REFERENCES ledger_accounts (id),
  day        INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  postings   INTEGER NOT NULL,
  credited   INTEGER NOT NULL,
  debited    INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_kind_days_by_day ON ledger_kind_days (day, account_id, kind);

-- The days on which nothing more can be posted. Days without transactions have no row. A row without a hash is being
-- read; only the newest one can be that.
CREATE TABLE ledger_closed_days (
  day          INTEGER PRIMARY KEY,  -- days since 1970, in UTC
  closed_at    INTEGER NOT NULL,
  transactions INTEGER,
  postings     INTEGER,
  moved        INTEGER,  -- the sum of the amounts above 0, at most 9007199254740991
  hash         TEXT,  -- of the day's transactions and postings, without memos: SHA-256 in hex
  chain        TEXT,  -- of the row before it and of this row: SHA-256 in hex
  CHECK ((hash IS NULL) = (chain IS NULL))
) STRICT;

-- How far the parts of the audit have come that read old rows in the background.
CREATE TABLE ledger_audit_parts (
  part        TEXT PRIMARY KEY,
  position    TEXT NOT NULL,  -- the last key that was read in this pass; empty at its start
  checked     INTEGER NOT NULL,  -- rows of this pass
  broken      INTEGER NOT NULL,  -- violations in this pass
  first       TEXT NOT NULL,  -- the first of them
  ended_at    INTEGER,  -- the end of the pass before it, and what that one found
  was_checked INTEGER NOT NULL,
  was_broken  INTEGER NOT NULL,
  was_first   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Points that stand on a reservation account until they are posted to somebody, or go back.
CREATE TABLE ledger_holds (
  id         TEXT PRIMARY KEY,
  source_id  TEXT NOT NULL REFERENCES ledger_accounts (id),
  held_id    TEXT NOT NULL REFERENCES ledger_accounts (id),  -- of kind reservation
  amount     INTEGER NOT NULL CHECK (amount BETWEEN 1 AND 9007199254740991),
  purpose    TEXT NOT NULL,
  state      TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'posted', 'voided', 'expired')),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  closed_at  INTEGER,
  CHECK ((state = 'open') = (closed_at IS NULL))
) STRICT;
CREATE INDEX ledger_holds_open ON ledger_holds (expires_at) WHERE state = 'open';
CREATE INDEX ledger_holds_of_source ON ledger_holds (source_id) WHERE state = 'open';
CREATE INDEX ledger_holds_closed ON ledger_holds (closed_at) WHERE state <> 'open';
-- The audit adds up the open reservations of one account.
CREATE INDEX ledger_holds_of_held ON ledger_holds (held_id, amount) WHERE state = 'open';

-- What was given away on a UTC day: to a user, through the apps of an owner, in total.
CREATE TABLE reward_days (
  subject TEXT NOT NULL,  -- user:<id>, owner:<id>, total
  day     INTEGER NOT NULL,  -- days since 1970
  points  INTEGER NOT NULL CHECK (points BETWEEN 0 AND 9007199254740991),
  PRIMARY KEY (subject, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX reward_days_by_day ON reward_days (day);

-- Ledger accounts of deleted users, and up to which transaction the memos are emptied.
CREATE TABLE memo_erasures (
  account_id TEXT PRIMARY KEY REFERENCES ledger_accounts (id),
  user_id    TEXT NOT NULL REFERENCES erasures (user_id),
  up_to      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX memo_erasures_by_user ON memo_erasures (user_id);

-- ==== Deployments: what operators want to run, and what the cluster made of it ====

CREATE TABLE deploy_tiers (
  id                     TEXT PRIMARY KEY,
  name                   TEXT NOT NULL,
  slug                   TEXT NOT NULL UNIQUE,
  description            TEXT NOT NULL,
  payment_method         TEXT NOT NULL CHECK (payment_method IN ('service_points', 'bitcoin')),
  monthly_cost_points    INTEGER CHECK (monthly_cost_points BETWEEN 0 AND 9007199254740991),
  monthly_cost_sats      INTEGER CHECK (monthly_cost_sats >= 0),
  memory_limit_mb        INTEGER NOT NULL CHECK (memory_limit_mb > 0),
  cpu_limit_millicores   INTEGER NOT NULL CHECK (cpu_limit_millicores > 0),
  max_deployments        INTEGER CHECK (max_deployments >= 0),  -- NULL: no limit
  custom_domain_allowed  INTEGER NOT NULL CHECK (custom_domain_allowed IN (0, 1)),
  auto_approve           INTEGER NOT NULL CHECK (auto_approve IN (0, 1)),
  monthly_stipend_points INTEGER NOT NULL DEFAULT 0 CHECK (monthly_stipend_points >= 0),
  ad_reach_multiplier    TEXT NOT NULL DEFAULT '1.0',
  position               INTEGER NOT NULL,
  -- How the tier's containers are kept apart from the node and from each other.
  runtime_class          TEXT,  -- NULL: the cluster's default runtime
  user_namespaces        INTEGER CHECK (user_namespaces IN (0, 1)),  -- NULL: where nodes can, without a runtime class
  smtp                   INTEGER NOT NULL DEFAULT 0 CHECK (smtp IN (0, 1)),
  bandwidth_mbit         INTEGER CHECK (bandwidth_mbit > 0),
  -- Each payment method has its price and not the other's.
  CHECK ((payment_method = 'bitcoin') = (monthly_cost_sats IS NOT NULL)),
  CHECK ((payment_method = 'service_points') = (monthly_cost_points IS NOT NULL))
) STRICT;

CREATE TABLE deployments (
  id                   TEXT PRIMARY KEY,
  app_id               TEXT NOT NULL REFERENCES apps (id),
  owner_id             TEXT NOT NULL REFERENCES users (id),  -- of the app: caps count over all its apps
  tier_id              TEXT NOT NULL REFERENCES deploy_tiers (id),
  name                 TEXT NOT NULL,
  image                TEXT NOT NULL,
  port                 INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
  custom_domain        TEXT,  -- as the operator asked for it; the claims say who has a domain
  health_path          TEXT,
  env_keys             TEXT NOT NULL,  -- a JSON array; the values are in env_sealed alone
  env_sealed           TEXT NOT NULL,
  credentials_sealed   TEXT,
  memory_limit_mb      INTEGER NOT NULL,
  cpu_limit_millicores INTEGER NOT NULL,
  -- The desired state.
  generation           INTEGER NOT NULL DEFAULT 1,
  rollout              INTEGER NOT NULL DEFAULT 0,
  status               TEXT NOT NULL
    CHECK (status IN ('pending', 'deploying', 'running', 'stopped', 'errored', 'destroyed')),
  -- What was observed.
  phase                TEXT NOT NULL DEFAULT '',
  reason               TEXT,
  cause                TEXT,
  message              TEXT,
  container_id         TEXT,
  image_digest         TEXT,
  host_server          TEXT,
  health_status        TEXT CHECK (health_status IN ('healthy', 'unhealthy', 'unknown')),
  billing_status       TEXT CHECK (billing_status IN ('current', 'warning', 'suspended', 'exempt')),
  last_health_check    INTEGER,
  deployed_at          INTEGER,
  stopped_at           INTEGER,
  suspended_at         INTEGER,
  destroyed_at         INTEGER,
  removed_at           INTEGER,
  request_id           TEXT NOT NULL,
  inserted_at          INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL,
  -- By which operators tell their deployments apart: a JSON object of texts, with its keys in order and without blanks.
  labels               TEXT NOT NULL DEFAULT '{}',
  -- A tombstone: only a destroyed deployment can be off the cluster.
  CHECK (removed_at IS NULL OR status = 'destroyed')
) STRICT;
-- A name is free again as soon as its deployment is destroyed.
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
-- The console's list of all deployments of a person.
CREATE INDEX deployments_of_owner ON deployments (owner_id, inserted_at, id)
  WHERE status <> 'destroyed';
-- The deployments that failed last.
CREATE INDEX deployments_failed ON deployments (updated_at, id) WHERE status = 'errored';
-- The size of an app's namespace is added up whenever one of its deployments is reconciled.
CREATE INDEX deployments_sizes ON deployments (app_id, memory_limit_mb, cpu_limit_millicores)
  WHERE status <> 'destroyed';
-- Those of deleted accounts lose their name as well, the others only their remaining texts, some weeks later.
CREATE INDEX deployments_to_erase ON deployments (owner_id)
  WHERE status = 'destroyed' AND removed_at IS NOT NULL AND name <> '';
CREATE INDEX deployments_by_removal ON deployments (removed_at) WHERE status = 'destroyed' AND image <> '';

-- A row for each label of a deployment that isn't destroyed; deployments.labels has the same.
CREATE TABLE deployment_labels (
  deployment_id TEXT NOT NULL REFERENCES deployments (id),
  label         TEXT NOT NULL,
  value         TEXT NOT NULL,
  app_id        TEXT NOT NULL,  -- of the deployment
  inserted_at   INTEGER NOT NULL,  -- of the deployment
  PRIMARY KEY (deployment_id, label)
) STRICT, WITHOUT ROWID;
CREATE INDEX deployment_labels_of_app
  ON deployment_labels (app_id, label, value, inserted_at, deployment_id);

-- What each rollout of a deployment was asked to run, to go back to.
CREATE TABLE deployment_revisions (
  deployment_id      TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
  generation         INTEGER NOT NULL,  -- of the deployment, that the rollout began with
  kind               TEXT NOT NULL CHECK (kind IN ('create', 'patch', 'restart', 'rollback')),
  initiated_by       TEXT,
  image              TEXT NOT NULL,
  port               INTEGER NOT NULL,
  health_path        TEXT,
  env_keys           TEXT NOT NULL,
  env_sealed         TEXT NOT NULL,  -- as in the deployment's row: for this deployment alone
  credentials_sealed TEXT,
  image_digest       TEXT,  -- once it ran
  started_at         INTEGER NOT NULL,
  succeeded_at       INTEGER,  -- NULL: it never ran (yet)
  PRIMARY KEY (deployment_id, generation)
) STRICT;

CREATE TABLE deploy_logs (
  id            TEXT PRIMARY KEY,  -- a UUIDv7
  deployment_id TEXT NOT NULL REFERENCES deployments (id),
  action        TEXT NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('started', 'succeeded', 'failed', 'info')),
  initiated_by  TEXT,
  details       TEXT,  -- a JSON object
  inserted_at   INTEGER NOT NULL,
  -- The entries of a deployment's log are counted, because several of them may have the same time.
  number        INTEGER NOT NULL DEFAULT 0  -- rises within a deployment
) STRICT;
CREATE UNIQUE INDEX deploy_logs_in_order ON deploy_logs (deployment_id, number);

-- Who ever had a sub-domain or a custom domain. One row for each name that was ever used, for ever: a CNAME that its
-- owner forgot may stay as long. However often a name changes hands, it stays one row (some 100 bytes).
CREATE TABLE used_names (
  name_hash TEXT PRIMARY KEY,  -- HMAC with the data key: a name may say who had it
  owner_id  TEXT  -- the only user who ever had it; NULL: several did
) STRICT, WITHOUT ROWID;

-- ==== Billing of deployments ====

-- What a deployment has paid for, and when the loop has to look at that again.
CREATE TABLE deployment_billing (
  deployment_id TEXT PRIMARY KEY REFERENCES deployments (id),
  app_id        TEXT NOT NULL REFERENCES apps (id),
  paid_until    INTEGER NOT NULL,  -- the end of the newest period that was paid for, or was free
  -- Points for 30 days, by which that period was paid: from which a change of tier is computed.
  rate          INTEGER NOT NULL CHECK (rate BETWEEN 0 AND 9007199254740991),
  due_at        INTEGER,  -- when the loop has to look; NULL: only when something happens
  warned_at     INTEGER,  -- of the renewal at paid_until
  -- While an admin's suspension lasts: whether the deployment starts again after it.
  resumes       INTEGER NOT NULL DEFAULT 0 CHECK (resumes IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX deployment_billing_due ON deployment_billing (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deployment_billing_by_app ON deployment_billing (app_id, paid_until)
  WHERE due_at IS NOT NULL;

-- What a period of a deployment cost: one row for each, in the transaction of its debit. Charges keep the ids of their
-- transactions as text. The audit compares the two; a foreign key would need an index of these ids in the ledger, which
-- nothing else needs.
CREATE TABLE deployment_charges (
  deployment_id  TEXT NOT NULL REFERENCES deployments (id),
  period_start   INTEGER NOT NULL,
  transaction_id TEXT NOT NULL,
  amount         INTEGER NOT NULL,
  tier_id        TEXT REFERENCES deploy_tiers (id),
  PRIMARY KEY (deployment_id, period_start)
) STRICT, WITHOUT ROWID;
CREATE INDEX deployment_charges_by_transaction ON deployment_charges (transaction_id);

-- What a change of tier cost for the rest of its period, or gave back.
CREATE TABLE deployment_tier_changes (
  id             TEXT PRIMARY KEY,
  deployment_id  TEXT NOT NULL REFERENCES deployments (id),
  period_start   INTEGER NOT NULL,
  from_tier_id   TEXT NOT NULL REFERENCES deploy_tiers (id),
  to_tier_id     TEXT NOT NULL REFERENCES deploy_tiers (id),
  amount         INTEGER NOT NULL,  -- charged; below 0: credited
  transaction_id TEXT,
  at             INTEGER NOT NULL,
  CHECK ((amount = 0) = (transaction_id IS NULL))
) STRICT;
CREATE INDEX deployment_tier_changes_by_transaction ON deployment_tier_changes (transaction_id)
  WHERE transaction_id IS NOT NULL;
CREATE INDEX deployment_tier_changes_of ON deployment_tier_changes (deployment_id, at, id);

-- What owners of deployments got for being on a tier with a stipend.
CREATE TABLE stipends (
  owner_id       TEXT NOT NULL REFERENCES users (id),
  paid_at        INTEGER NOT NULL,
  tier_id        TEXT NOT NULL REFERENCES deploy_tiers (id),
  amount         INTEGER NOT NULL CHECK (amount >= 1),
  transaction_id TEXT NOT NULL,
  PRIMARY KEY (owner_id, paid_at)
) STRICT, WITHOUT ROWID;

-- ==== Custom domains: who claims which, who claimed it before, and what certificates were asked for ====

-- One row for each claim: it lives until `released_at`, and is the history of the domain after it.
CREATE TABLE custom_domains (
  id            TEXT PRIMARY KEY,
  deployment_id TEXT NOT NULL REFERENCES deployments (id),
  app_id        TEXT NOT NULL REFERENCES apps (id),
  owner_id      TEXT NOT NULL REFERENCES users (id),  -- of the app: what one owner used is their own
  domain        TEXT NOT NULL,  -- lower case, punycode, without a dot at the end
  is_apex       INTEGER NOT NULL CHECK (is_apex IN (0, 1)),
  generation    INTEGER NOT NULL DEFAULT 1,  -- raised where the operator asks to look again
  state         TEXT NOT NULL DEFAULT 'waiting_for_dns'
    CHECK (state IN ('waiting_for_dns', 'issuing', 'active', 'failed')),
  reason        TEXT,
  message       TEXT,
  addresses     TEXT NOT NULL DEFAULT '[]',  -- a JSON array: where the platform's ingress is
  failures      INTEGER NOT NULL DEFAULT 0,  -- certificates refused in a row
  claimed_at    INTEGER NOT NULL,
  asked_at      INTEGER NOT NULL,  -- claimed, or asked to look again
  checked_at    INTEGER,
  next_check_at INTEGER NOT NULL,
  proven_at     INTEGER,  -- of the newest check, where it said that the domain is the operator's
  refuted_since INTEGER,  -- of the first check since such a one that said that it isn't
  expires_at    INTEGER,  -- of the certificate
  renews_at     INTEGER,
  released_at   INTEGER,
  removed_at    INTEGER,  -- released, and nothing is left of it on the cluster
  -- Why a claim needs the TXT record; NULL: it needs none.
  txt_reason    TEXT CHECK (txt_reason IN ('apex', 'domain_used_before', 'name_used_before')),
  CHECK (removed_at IS NULL OR released_at IS NOT NULL)
) STRICT;
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

-- Every certificate that was asked for, for the budgets.
CREATE TABLE certificate_orders (
  id                TEXT PRIMARY KEY,
  owner_id          TEXT NOT NULL REFERENCES users (id),
  app_id            TEXT NOT NULL REFERENCES apps (id),
  domain            TEXT NOT NULL,
  registered_domain TEXT NOT NULL,
  kind              TEXT NOT NULL CHECK (kind IN ('first', 'renewal')),
  outcome           TEXT CHECK (outcome IN ('issued', 'failed')),  -- NULL while it runs
  ordered_at        INTEGER NOT NULL,
  ended_at          INTEGER
) STRICT;
CREATE INDEX certificate_orders_by_time ON certificate_orders (ordered_at);
CREATE INDEX certificate_orders_by_owner ON certificate_orders (owner_id, ordered_at);
CREATE INDEX certificate_orders_by_domain ON certificate_orders (domain, ordered_at);
CREATE INDEX certificate_orders_by_registered ON certificate_orders (registered_domain, ordered_at);
CREATE INDEX certificate_orders_failed ON certificate_orders (domain, ended_at)
  WHERE outcome = 'failed';

-- ==== Events: what happened to an app's deployments and money, and whom to tell of it ====

-- Each row commits with what it is about. `id` only rises, also over rows that are gone: it is the id of server-sent
-- events.
CREATE TABLE app_events (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  -- A UUIDv7 (RFC 9562, section 5.7), of the machine's clock.
  uuid    TEXT NOT NULL UNIQUE DEFAULT (lower(
    substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)), 1, 8)
    || '-' || substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)), 9)
    || '-7' || substr(hex(randomblob(2)), 2)
    || '-' || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2)
    || '-' || hex(randomblob(6)))),
  app_id  TEXT NOT NULL REFERENCES apps (id),
  type    TEXT NOT NULL,  -- deployment.status, …; deployment.progress is for streams alone
  subject TEXT NOT NULL,  -- what is told in order: a deployment's id, a campaign's, …
  data    TEXT NOT NULL,  -- a JSON object
  at      INTEGER NOT NULL
) STRICT;
CREATE INDEX app_events_by_subject ON app_events (subject, id);
CREATE INDEX app_events_by_time ON app_events (at);

CREATE TABLE webhooks (
  id            TEXT PRIMARY KEY,
  app_id        TEXT NOT NULL REFERENCES apps (id),
  url           TEXT NOT NULL,
  secret_sealed TEXT NOT NULL,
  events        TEXT NOT NULL,  -- a JSON array of types
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  ended_at      INTEGER  -- its receiver has answered with 410 and gets nothing any more
) STRICT;
CREATE INDEX webhooks_by_app ON webhooks (app_id, created_at, id);

CREATE TABLE webhook_deliveries (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid            TEXT NOT NULL UNIQUE DEFAULT (lower(
    substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)), 1, 8)
    || '-' || substr(printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)), 9)
    || '-7' || substr(hex(randomblob(2)), 2)
    || '-' || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2)
    || '-' || hex(randomblob(6)))),
  webhook_id      TEXT NOT NULL REFERENCES webhooks (id),
  event_id        INTEGER NOT NULL REFERENCES app_events (id),
  subject         TEXT NOT NULL,  -- of the event
  state           TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts        INTEGER NOT NULL DEFAULT 0,
  -- Not before. The same for all that wait behind each other, so that only what can be sent is due.
  next_attempt_at INTEGER NOT NULL,
  last_attempt_at INTEGER,
  response_status INTEGER,
  last_error      TEXT,
  created_at      INTEGER NOT NULL,
  done_at         INTEGER  -- delivered or failed
) STRICT;
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_by_event ON webhook_deliveries (event_id);
CREATE INDEX webhook_deliveries_in_order ON webhook_deliveries (webhook_id, subject, id)
  WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_done ON webhook_deliveries (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at, id, state)
  WHERE state = 'waiting';

-- Whoever changes a deployment's status, by whatever statement, tells of it.
CREATE TRIGGER deployments_created AFTER INSERT ON deployments
BEGIN
  INSERT INTO app_events (app_id, type, subject, data, at)
  VALUES (NEW.app_id, 'deployment.status', NEW.id,
          json_object('id', NEW.id, 'status', NEW.status, 'subdomain', NEW.name,
                      'phase', NEW.phase, 'reason', NEW.reason, 'cause', NEW.cause,
                      'message', NEW.message, 'container_id', NEW.container_id,
                      'health_status', NEW.health_status,
                      'last_health_check', NEW.last_health_check, 'served_domain', NULL),
          NEW.inserted_at);
END;
CREATE TRIGGER deployments_changed
AFTER UPDATE OF status, phase, reason, cause, message, container_id, health_status ON deployments
WHEN OLD.status IS NOT NEW.status OR OLD.phase IS NOT NEW.phase OR OLD.reason IS NOT NEW.reason
  OR OLD.cause IS NOT NEW.cause OR OLD.message IS NOT NEW.message
  OR OLD.container_id IS NOT NEW.container_id OR OLD.health_status IS NOT NEW.health_status
BEGIN
  INSERT INTO app_events (app_id, type, subject, data, at)
  VALUES (NEW.app_id,
          CASE WHEN OLD.status IS NOT NEW.status OR OLD.reason IS NOT NEW.reason
                 OR OLD.cause IS NOT NEW.cause OR OLD.health_status IS NOT NEW.health_status
               THEN 'deployment.status' ELSE 'deployment.progress' END,
          NEW.id,
          json_object('id', NEW.id, 'status', NEW.status, 'subdomain', NEW.name,
                      'phase', NEW.phase, 'reason', NEW.reason, 'cause', NEW.cause,
                      'message', NEW.message, 'container_id', NEW.container_id,
                      'health_status', NEW.health_status,
                      'last_health_check', NEW.last_health_check,
                      'served_domain',
                      (SELECT c.domain FROM custom_domains c WHERE c.deployment_id = NEW.id
                         AND c.released_at IS NULL AND c.state = 'active')),
          NEW.updated_at);
END;

-- A deleted app tells nobody anything.
CREATE TRIGGER webhooks_of_deleted_apps AFTER UPDATE OF deleted_at ON apps
WHEN NEW.deleted_at IS NOT NULL
BEGIN
  DELETE FROM webhook_deliveries WHERE webhook_id IN (SELECT id FROM webhooks WHERE app_id = NEW.id);
  DELETE FROM webhooks WHERE app_id = NEW.id;
END;

-- The newest 200 of a subject stay (and what a delivery needs): a container that crashes all the time says so all the
-- time.
CREATE TRIGGER app_events_bound AFTER INSERT ON app_events
BEGIN
  DELETE FROM app_events
  WHERE subject = NEW.subject
    AND id <= (SELECT id FROM app_events WHERE subject = NEW.subject
               ORDER BY id DESC LIMIT 1 OFFSET 200)
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = app_events.id);
END;
-- One delivery for each webhook that wants the event. A receiver for which 500 wait has been away for long: it misses
-- what comes until it takes some. Those of one subject keep their order, so that what is new waits for what waits
-- already.
CREATE TRIGGER app_events_to_webhooks AFTER INSERT ON app_events
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
    AND EXISTS (SELECT 1 FROM json_each(w.events) wanted WHERE wanted.value = NEW.type)
    AND (SELECT count(*) FROM webhook_deliveries d
         WHERE d.webhook_id = w.id AND d.state = 'waiting') < 500;
END;

-- ==== Ads: the market, campaigns, and what they served ====

-- The market. Multipliers are in hundredths.
CREATE TABLE ad_rates (
  surface_type TEXT PRIMARY KEY,
  base_rate    INTEGER NOT NULL CHECK (base_rate BETWEEN 1 AND 1000000),
  floor_price  INTEGER NOT NULL CHECK (floor_price BETWEEN 1 AND base_rate),
  demand       INTEGER NOT NULL DEFAULT 100,
  popularity   INTEGER NOT NULL DEFAULT 100
) STRICT;
INSERT INTO ad_rates (surface_type, base_rate, floor_price) VALUES
  ('banner', 10, 5), ('native', 12, 6), ('interstitial', 20, 10), ('video', 25, 12), ('rewarded', 30, 15);

CREATE TABLE ad_placements (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  surface_type TEXT NOT NULL,
  app_id       TEXT REFERENCES apps (id),
  description  TEXT NOT NULL,
  is_active    INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  inserted_at  INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE ad_pricing (
  id              TEXT PRIMARY KEY,
  ad_placement_id TEXT NOT NULL REFERENCES ad_placements (id),
  base_rate       INTEGER NOT NULL,
  min_rate        INTEGER NOT NULL,
  max_rate        INTEGER NOT NULL,
  effective_from  INTEGER NOT NULL,
  effective_until INTEGER,
  inserted_at     INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX ad_pricing_by_placement ON ad_pricing (ad_placement_id, effective_from, id);

CREATE TABLE audience_segments (
  id          TEXT PRIMARY KEY,
  app_id      TEXT REFERENCES apps (id),  -- empty: everybody's
  name        TEXT NOT NULL,
  game_type   TEXT,
  play_tier   TEXT,
  geography   TEXT,
  metadata    TEXT,  -- a JSON object
  inserted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX audience_segments_by_app ON audience_segments (app_id, id);

CREATE TABLE ad_packages (
  id                  TEXT PRIMARY KEY,
  name                TEXT NOT NULL,
  description         TEXT,
  discount_percentage INTEGER NOT NULL CHECK (discount_percentage BETWEEN 0 AND 90),
  min_surfaces        INTEGER NOT NULL,
  min_impressions     INTEGER NOT NULL,
  is_active           INTEGER NOT NULL CHECK (is_active IN (0, 1)),
  inserted_at         INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL
) STRICT;

CREATE TABLE ad_package_purchases (
  id              TEXT PRIMARY KEY,
  ad_package_id   TEXT NOT NULL REFERENCES ad_packages (id),
  app_id          TEXT NOT NULL REFERENCES apps (id),
  surfaces        TEXT NOT NULL,  -- a JSON array: surface_type, impressions, rate, discount, charged, campaign_id
  subtotal        INTEGER NOT NULL,
  discount_amount INTEGER NOT NULL,
  rake_amount     INTEGER NOT NULL,
  total_charged   INTEGER NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('completed', 'refunded')),
  inserted_at     INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX ad_package_purchases_by_app ON ad_package_purchases (app_id, inserted_at, id);

-- What is left of a campaign's budget and what is reserved of it are balances of the ledger, not columns.
CREATE TABLE campaigns (
  id                 TEXT PRIMARY KEY,
  app_id             TEXT NOT NULL REFERENCES apps (id),
  owner_id           TEXT NOT NULL REFERENCES users (id),  -- of the app
  purchase_id        TEXT REFERENCES ad_package_purchases (id),
  name               TEXT NOT NULL,
  surface_type       TEXT NOT NULL CHECK (surface_type IN ('banner', 'video', 'interstitial', 'native', 'rewarded')),
  payout_rate        INTEGER NOT NULL CHECK (payout_rate BETWEEN 1 AND 9007199254740991),
  targeting_metadata TEXT,  -- a JSON object
  status             TEXT NOT NULL CHECK (status IN ('active', 'paused', 'exhausted', 'cancelled')),
  end_reason         TEXT CHECK (end_reason IN ('exhausted', 'cancelled', 'ended')),
  total_payment      INTEGER NOT NULL,  -- rake + budget
  rake               INTEGER NOT NULL,
  budget             INTEGER NOT NULL CHECK (budget <= 9007199254740991),
  spent              INTEGER NOT NULL DEFAULT 0 CHECK (spent BETWEEN 0 AND budget),
  refunded           INTEGER NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND budget),
  viewer_rewards     INTEGER NOT NULL DEFAULT 0 CHECK (viewer_rewards BETWEEN 0 AND rake),
  starts_at          INTEGER,
  ends_at            INTEGER,
  ended_at           INTEGER,
  inserted_at        INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  CHECK ((status IN ('active', 'paused')) = (end_reason IS NULL))
) STRICT;
CREATE INDEX campaigns_live ON campaigns (app_id) WHERE status IN ('active', 'paused');
CREATE INDEX campaigns_by_end ON campaigns (ends_at) WHERE status IN ('active', 'paused') AND ends_at IS NOT NULL;
CREATE INDEX campaigns_by_purchase ON campaigns (purchase_id) WHERE purchase_id IS NOT NULL;
CREATE INDEX campaigns_by_app ON campaigns (app_id, inserted_at, id);
CREATE INDEX campaigns_active ON campaigns (id) WHERE status = 'active';
CREATE INDEX campaigns_to_erase ON campaigns (app_id) WHERE status IN ('exhausted', 'cancelled') AND name <> '';

CREATE TABLE campaign_placements (
  id                    TEXT PRIMARY KEY,
  campaign_id           TEXT NOT NULL REFERENCES campaigns (id),
  ad_placement_id       TEXT NOT NULL REFERENCES ad_placements (id),
  allocated_budget      INTEGER NOT NULL,
  impressions_target    INTEGER NOT NULL CHECK (impressions_target >= 1),
  impressions_delivered INTEGER NOT NULL DEFAULT 0,
  status                TEXT NOT NULL CHECK (status IN ('active', 'paused', 'depleted')),
  removed_at            INTEGER,
  inserted_at           INTEGER NOT NULL,
  updated_at            INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX campaign_placements_once ON campaign_placements (campaign_id, ad_placement_id)
  WHERE removed_at IS NULL;
CREATE INDEX campaign_placements_by_campaign ON campaign_placements (campaign_id);
CREATE INDEX campaign_placements_in_order ON campaign_placements (campaign_id, inserted_at, id)
  WHERE removed_at IS NULL;
CREATE INDEX campaign_placements_by_placement
  ON campaign_placements (ad_placement_id, campaign_id) WHERE removed_at IS NULL;

CREATE TABLE placement_segments (
  id                    TEXT PRIMARY KEY,
  campaign_placement_id TEXT NOT NULL REFERENCES campaign_placements (id),
  segment_type          TEXT NOT NULL CHECK (segment_type IN ('game_type', 'play_tier', 'geography')),
  segment_value         TEXT NOT NULL,
  match_mode            TEXT NOT NULL CHECK (match_mode IN ('exact', 'prefix', 'any')),
  inserted_at           INTEGER NOT NULL
) STRICT;
CREATE INDEX placement_segments_by_placement ON placement_segments (campaign_placement_id, inserted_at);

-- One for each answer of serve: the first phase of an impression. It is open while nobody has used it and its time
-- isn't over.
CREATE TABLE ad_impressions (
  id                    TEXT PRIMARY KEY,  -- of the hold
  token_hash            TEXT NOT NULL UNIQUE,
  campaign_id           TEXT NOT NULL REFERENCES campaigns (id),
  campaign_placement_id TEXT REFERENCES campaign_placements (id),
  app_id                TEXT NOT NULL,
  user_id               TEXT NOT NULL,
  created_at            INTEGER NOT NULL,
  expires_at            INTEGER NOT NULL,
  used_at               INTEGER  -- an event has used it, paid or not
) STRICT;
CREATE INDEX ad_impressions_open_of_app ON ad_impressions (campaign_id, app_id, expires_at) WHERE used_at IS NULL;
CREATE INDEX ad_impressions_open_of_user ON ad_impressions (campaign_id, app_id, user_id, id) WHERE used_at IS NULL;
CREATE INDEX ad_impressions_open_of_placement ON ad_impressions (campaign_placement_id, expires_at)
  WHERE used_at IS NULL AND campaign_placement_id IS NOT NULL;
CREATE INDEX ad_impressions_unused ON ad_impressions (expires_at) WHERE used_at IS NULL;
CREATE INDEX ad_impressions_used ON ad_impressions (used_at) WHERE used_at IS NOT NULL;

-- Every report, paid or not. Counted: a paid impression, or a click after one.
CREATE TABLE ad_events (
  id                   TEXT PRIMARY KEY,
  campaign_id          TEXT NOT NULL REFERENCES campaigns (id),
  app_id               TEXT NOT NULL,
  user_id              TEXT NOT NULL,
  event_type           TEXT NOT NULL CHECK (event_type IN ('impression', 'click')),
  surface_type         TEXT NOT NULL,
  payout_rate_snapshot INTEGER NOT NULL,
  counted              INTEGER NOT NULL CHECK (counted IN (0, 1)),
  unpaid_reason        TEXT,
  viewer_reward        INTEGER NOT NULL DEFAULT 0,
  impression_id        TEXT REFERENCES ad_impressions (id),
  clicked_event_id     TEXT REFERENCES ad_events (id),  -- a click: the impression that it is of
  inserted_at          INTEGER NOT NULL,
  CHECK (counted = (unpaid_reason IS NULL))
) STRICT;
CREATE INDEX ad_events_seen ON ad_events (campaign_id, app_id, user_id, id)
  WHERE event_type = 'impression' AND counted = 1;
CREATE UNIQUE INDEX ad_events_one_click ON ad_events (clicked_event_id) WHERE clicked_event_id IS NOT NULL;
-- SQLite looks here before it deletes a reservation, so the index has all kinds of events.
CREATE UNIQUE INDEX ad_events_by_impression ON ad_events (impression_id) WHERE impression_id IS NOT NULL;
CREATE INDEX ad_events_by_time ON ad_events (inserted_at);

-- Sums of what is counted, by days since 1970 in UTC; written with the event.
CREATE TABLE ad_days (
  campaign_id    TEXT NOT NULL REFERENCES campaigns (id),
  day            INTEGER NOT NULL,
  impressions    INTEGER NOT NULL DEFAULT 0,
  clicks         INTEGER NOT NULL DEFAULT 0,
  spend          INTEGER NOT NULL DEFAULT 0,
  -- What the campaign's viewers got.
  viewer_rewards INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (campaign_id, day)
) STRICT, WITHOUT ROWID;

-- How often a user has seen a campaign on a day.
CREATE TABLE ad_views (
  user_id     TEXT NOT NULL,
  day         INTEGER NOT NULL,
  campaign_id TEXT NOT NULL,
  impressions INTEGER NOT NULL,
  PRIMARY KEY (user_id, day, campaign_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ad_views_most ON ad_views (user_id, day, impressions);
CREATE INDEX ad_views_by_day ON ad_views (day);

-- How many impressions of a surface count for its demand, by which the market sets its price.
CREATE TABLE ad_demand_days (
  surface_type TEXT NOT NULL,
  day          INTEGER NOT NULL,
  impressions  INTEGER NOT NULL,
  PRIMARY KEY (surface_type, day)
) STRICT, WITHOUT ROWID;

-- ==== People: friends, presence, search, chat ====

-- One row for each two people, whoever asked whom: asking again after an end opens it anew, under another id.
CREATE TABLE friendships (
  id           TEXT PRIMARY KEY,
  low_id       TEXT NOT NULL REFERENCES users (id),
  high_id      TEXT NOT NULL REFERENCES users (id),
  requester_id TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('pending', 'accepted', 'rejected', 'removed')),
  asked_at     INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL,
  CHECK (low_id < high_id),
  CHECK (requester_id IN (low_id, high_id))
) STRICT;
CREATE UNIQUE INDEX friendships_by_pair ON friendships (low_id, high_id);
CREATE INDEX friendships_of_low ON friendships (low_id, status, changed_at);
CREATE INDEX friendships_of_high ON friendships (high_id, status, changed_at);

CREATE TABLE blocks (
  blocker_id TEXT NOT NULL REFERENCES users (id),
  blocked_id TEXT NOT NULL REFERENCES users (id),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (blocker_id, blocked_id),
  CHECK (blocker_id <> blocked_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX blocks_by_blocked ON blocks (blocked_id);
CREATE INDEX blocks_by_time ON blocks (blocker_id, created_at, blocked_id);

-- When somebody was last seen, as it was known some seconds ago: the newest is in memory. Where the user is while they
-- are online is for several processes on one database; on SQLite, one process has it in memory.
CREATE TABLE presence (
  user_id      TEXT PRIMARY KEY REFERENCES users (id),
  last_seen    INTEGER NOT NULL,
  -- Where the user is while they are online; removed when they are offline.
  current_game TEXT,
  lobby        TEXT,
  has_left     INTEGER NOT NULL DEFAULT 0 CHECK (has_left IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX presence_by_place ON presence (last_seen) WHERE current_game IS NOT NULL OR lobby IS NOT NULL;

-- Who sits at which table. Empty on SQLite, where one berthd has it in memory.
CREATE TABLE presence_seats (
  table_id  TEXT NOT NULL,  -- a name that an app gave the table
  user_id   TEXT NOT NULL,
  sat_at    INTEGER NOT NULL,
  last_seen INTEGER NOT NULL,
  has_left  INTEGER NOT NULL,
  PRIMARY KEY (table_id, user_id)
) STRICT;
CREATE INDEX presence_seats_by_user ON presence_seats (user_id);
CREATE INDEX presence_seats_by_time ON presence_seats (last_seen);

-- Where a suffix begins: a name has 32 characters at most, and who searches gives 2 at least.
CREATE TABLE suffix_positions (
  position INTEGER PRIMARY KEY
) STRICT;
WITH RECURSIVE positions (position) AS (
  VALUES (2) UNION ALL SELECT position + 1 FROM positions WHERE position < 31)
INSERT INTO suffix_positions (position) SELECT position FROM positions;

-- Search for a part of a username. Every suffix of a name stands here under its beginning, so that a part is a range of
-- this index as a prefix is one of users_searchable, however many users there are. Both hold what an answer says. The
-- triggers keep it, so that no way of writing users passes it by.
CREATE TABLE username_suffixes (
  suffix   TEXT NOT NULL,
  user_id  TEXT NOT NULL,
  username TEXT NOT NULL,
  PRIMARY KEY (suffix, user_id)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER username_suffixes_appear AFTER INSERT ON users
  WHEN NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL
BEGIN
  INSERT INTO username_suffixes (suffix, user_id, username)
    SELECT substr(NEW.username_key, position), NEW.id, NEW.username FROM suffix_positions
    WHERE position < length(NEW.username_key);
END;
-- One trigger for both: SQLite doesn't say in which order two of them run.
CREATE TRIGGER username_suffixes_change
AFTER UPDATE OF username, username_key, deleted_at, suspended_at ON users
BEGIN
  DELETE FROM username_suffixes WHERE user_id = OLD.id
    AND suffix IN (SELECT substr(OLD.username_key, position) FROM suffix_positions);
  INSERT INTO username_suffixes (suffix, user_id, username)
    SELECT substr(NEW.username_key, position), NEW.id, NEW.username FROM suffix_positions
    WHERE position < length(NEW.username_key)
      AND NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL;
END;

CREATE TABLE chat_channels (
  id           TEXT PRIMARY KEY,
  type         TEXT NOT NULL CHECK (type IN ('lobby', 'table')),
  ref_id       TEXT,
  created_at   INTEGER NOT NULL,
  -- When the last member left; NULL while there are members. A channel that nobody has been in for long is deleted.
  abandoned_at INTEGER
) STRICT;
-- NULLs are never equal to one another: the one lobby without a ref_id counts as ''.
CREATE UNIQUE INDEX chat_channels_by_ref ON chat_channels (type, coalesce(ref_id, ''));
CREATE INDEX chat_channels_by_type ON chat_channels (type, id);
CREATE INDEX chat_channels_abandoned ON chat_channels (abandoned_at) WHERE abandoned_at IS NOT NULL;

CREATE TABLE chat_members (
  channel_id TEXT NOT NULL REFERENCES chat_channels (id),
  user_id    TEXT NOT NULL REFERENCES users (id),
  joined_at  INTEGER NOT NULL,
  PRIMARY KEY (channel_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_members_by_user ON chat_members (user_id);

-- What happened in the channels, in its order. An admin's deletion empties the message's row and adds one that names
-- it, so that whoever follows a channel hears of it in turn. AUTOINCREMENT: a number is never used twice, since
-- followers remember the last one that they saw.
CREATE TABLE chat_entries (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  channel_id    TEXT NOT NULL REFERENCES chat_channels (id),
  kind          TEXT NOT NULL CHECK (kind IN ('message', 'deleted', 'deletion')),
  message_id    TEXT NOT NULL,
  sender_id     TEXT NOT NULL REFERENCES users (id),
  sealed_body   TEXT,  -- with the data key: what was really written never goes out
  filtered_body TEXT,  -- by the words of words_version
  words_version INTEGER,
  sent_at       INTEGER NOT NULL,
  CHECK ((kind = 'message') = (sealed_body IS NOT NULL)),
  CHECK ((kind = 'message') = (filtered_body IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX chat_messages_by_id ON chat_entries (message_id) WHERE kind <> 'deletion';
CREATE INDEX chat_entries_by_channel ON chat_entries (channel_id, seq);
CREATE INDEX chat_entries_by_sender ON chat_entries (sender_id, sent_at);
CREATE INDEX chat_entries_by_time ON chat_entries (sent_at);

-- What admins want to have filtered. The version goes up with each change of the list.
CREATE TABLE chat_words (
  word TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE chat_words_version (
  version INTEGER NOT NULL
) STRICT;
INSERT INTO chat_words_version (version) VALUES (1);

-- ==== Items: avatars, what they can wear, and learning modules ====

CREATE TABLE cosmetic_items (
  id           TEXT PRIMARY KEY,
  name         TEXT NOT NULL,
  description  TEXT,
  -- Stays as it is: an avatar wears one item of each.
  category     TEXT NOT NULL CHECK (category IN
    ('hat', 'hair', 'top', 'bottom', 'shoes', 'accessory', 'background', 'frame', 'emote')),
  rarity       TEXT NOT NULL CHECK (rarity IN ('common', 'uncommon', 'rare', 'legendary')),
  asset_url    TEXT,
  price_points INTEGER NOT NULL CHECK (price_points BETWEEN 0 AND 9007199254740991),
  available    INTEGER NOT NULL CHECK (available IN (0, 1)),
  inserted_at  INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX cosmetic_items_by_category ON cosmetic_items (category, id);
CREATE INDEX cosmetic_items_by_time ON cosmetic_items (inserted_at, id);

-- An item is owned once, whatever two purchases at a time see.
CREATE TABLE user_cosmetics (
  id           TEXT PRIMARY KEY,
  user_id      TEXT NOT NULL REFERENCES users (id),
  item_id      TEXT NOT NULL REFERENCES cosmetic_items (id),
  acquired_at  INTEGER NOT NULL,
  acquired_via TEXT NOT NULL CHECK (acquired_via IN ('purchase', 'gift', 'achievement', 'promotion')),
  UNIQUE (user_id, item_id)
) STRICT;
CREATE INDEX user_cosmetics_by_time ON user_cosmetics (user_id, acquired_at, id);

CREATE TABLE avatars (
  id           TEXT PRIMARY KEY,
  user_id      TEXT NOT NULL UNIQUE REFERENCES users (id),
  display_name TEXT,
  appearance   TEXT NOT NULL DEFAULT '{}',  -- a JSON object, the apps' own
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT;

-- Nobody wears what they don't own, nor two of a category.
CREATE TABLE equipped_cosmetics (
  user_id  TEXT NOT NULL,
  category TEXT NOT NULL,
  item_id  TEXT NOT NULL,
  PRIMARY KEY (user_id, category),
  FOREIGN KEY (user_id, item_id) REFERENCES user_cosmetics (user_id, item_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE learning_modules (
  id                   TEXT PRIMARY KEY,
  number               INTEGER NOT NULL UNIQUE CHECK (number BETWEEN 1 AND 1000000),
  title                TEXT NOT NULL,
  description          TEXT NOT NULL,
  total                INTEGER NOT NULL CHECK (total BETWEEN 1 AND 1000000),  -- steps
  min_seconds          INTEGER NOT NULL CHECK (min_seconds BETWEEN 0 AND 31536000),
  points               INTEGER NOT NULL CHECK (points BETWEEN 0 AND 9007199254740991),
  repeat_after_seconds INTEGER CHECK (repeat_after_seconds BETWEEN 1 AND 315360000),  -- NULL: once
  active               INTEGER NOT NULL CHECK (active IN (0, 1)),
  inserted_at          INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL
) STRICT;

CREATE TABLE learning_progress (
  user_id            TEXT NOT NULL REFERENCES users (id),
  module_id          TEXT NOT NULL REFERENCES learning_modules (id),
  started_at         INTEGER NOT NULL,  -- of this round
  completed          INTEGER NOT NULL DEFAULT 0 CHECK (completed >= 0),
  completed_at       INTEGER,  -- of this round
  repeat_eligible_at INTEGER,  -- NULL while it isn't completed, and where it pays once
  first_completed_at INTEGER,  -- what opens the next module, for good
  PRIMARY KEY (user_id, module_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE learning_paths (
  user_id TEXT PRIMARY KEY REFERENCES users (id),
  path    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
