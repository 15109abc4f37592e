-- 0005_custom_domains.sql: who claims which domain, who claimed it before, and what certificates
-- were asked for.

-- One row for each claim: it lives until `released_at`, and is the history of the domain after it.
CREATE TABLE custom_domains (
  id             TEXT PRIMARY KEY,
  deployment_id  TEXT NOT NULL REFERENCES deployments (id),
  app_id         TEXT NOT NULL REFERENCES apps (id),
  owner_id       TEXT NOT NULL REFERENCES users (id),  -- of the app: what one owner used is his own
  domain         TEXT NOT NULL,  -- lower case, punycode, without a dot at the end
  is_apex        INTEGER NOT NULL CHECK (is_apex IN (0, 1)),
  needs_txt      INTEGER NOT NULL CHECK (needs_txt IN (0, 1)),
  generation     INTEGER NOT NULL DEFAULT 1,  -- raised where the operator asks to look again
  state          TEXT NOT NULL DEFAULT 'waiting_for_dns'
    CHECK (state IN ('waiting_for_dns', 'issuing', 'active', 'failed')),
  reason         TEXT,
  message        TEXT,
  addresses      TEXT NOT NULL DEFAULT '[]',  -- a JSON array: where the platform's ingress is
  failures       INTEGER NOT NULL DEFAULT 0,  -- certificates refused in a row
  claimed_at     INTEGER NOT NULL,
  asked_at       INTEGER NOT NULL,  -- claimed, or asked to look again
  checked_at     INTEGER,
  next_check_at  INTEGER NOT NULL,
  proven_at      INTEGER,  -- of the newest check, where it said that the domain is the operator's
  refuted_since  INTEGER,  -- of the first check since such a one that said that it isn't
  expires_at     INTEGER,  -- of the certificate
  renews_at      INTEGER,
  released_at    INTEGER,
  removed_at     INTEGER,  -- released, and nothing is left of it on the cluster
  CHECK (removed_at IS NULL OR released_at IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX custom_domains_living ON custom_domains (domain) WHERE released_at IS NULL;
CREATE UNIQUE INDEX custom_domains_by_deployment ON custom_domains (deployment_id)
  WHERE released_at IS NULL;
CREATE INDEX custom_domains_due ON custom_domains (next_check_at) WHERE released_at IS NULL;
CREATE INDEX custom_domains_history ON custom_domains (domain, released_at);
CREATE INDEX custom_domains_of_deployment ON custom_domains (deployment_id, claimed_at);
CREATE INDEX custom_domains_leaving ON custom_domains (domain)
  WHERE released_at IS NOT NULL AND removed_at IS NULL;

-- The claims say who has a domain: a deployment whose claim another owner displaced keeps its wish.
DROP INDEX deployments_by_domain;

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
