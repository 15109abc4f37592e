-- 0044_ledger_days.sql: sums of the ledger by UTC day (days since 1970), written with the postings.

-- All points that ever came to the account and that ever left it. The balance is the difference.
ALTER TABLE ledger_accounts ADD COLUMN credited INTEGER NOT NULL DEFAULT 0 CHECK (credited >= 0);
ALTER TABLE ledger_accounts ADD COLUMN debited INTEGER NOT NULL DEFAULT 0 CHECK (debited >= 0);

-- The same two figures at the end of a day on which something was posted on the account, as one
-- reads a meter. So a row gives the balance of its day, and two rows give what happened between
-- them.
CREATE TABLE ledger_days (
  account_id TEXT NOT NULL REFERENCES ledger_accounts (id),
  day        INTEGER NOT NULL,
  credited   INTEGER NOT NULL,
  debited    INTEGER NOT NULL,
  PRIMARY KEY (account_id, day)
) STRICT, WITHOUT ROWID;

-- What was posted on a day with transactions of one kind, on accounts of apps, of the treasury and
-- of issuance.
CREATE TABLE ledger_kind_days (
  account_id TEXT NOT NULL REFERENCES ledger_accounts (id),
  day        INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  postings   INTEGER NOT NULL,
  credited   INTEGER NOT NULL,
  debited    INTEGER NOT NULL,
  PRIMARY KEY (account_id, day, kind)
) STRICT, WITHOUT ROWID;

-- A day has 86,400,000 milliseconds. All times are after 1970. The unary plus makes SQLite read the
-- postings in their order, in which their transactions are neighbours, and sort the result; reading
-- them by account takes several times as long.
INSERT INTO ledger_kind_days (account_id, day, kind, postings, credited, debited)
  SELECT +p.account_id, t.at / 86400000, t.kind, count(*),
         sum(CASE WHEN p.amount > 0 THEN p.amount ELSE 0 END),
         sum(CASE WHEN p.amount < 0 THEN -p.amount ELSE 0 END)
  FROM ledger_postings p
  CROSS JOIN ledger_transactions t ON t.id = p.transaction_id
  CROSS JOIN ledger_accounts a ON a.id = p.account_id
  WHERE a.kind IN ('app', 'treasury', 'issuance')
  GROUP BY +p.account_id, t.at / 86400000, t.kind;
CREATE INDEX ledger_kind_days_by_day ON ledger_kind_days (day, account_id, kind);
INSERT INTO ledger_days (account_id, day, credited, debited)
  SELECT account_id, day,
         sum(credited) OVER (PARTITION BY account_id ORDER BY day),
         sum(debited) OVER (PARTITION BY account_id ORDER BY day)
  FROM (
    SELECT +p.account_id AS account_id, t.at / 86400000 AS day,
           sum(CASE WHEN p.amount > 0 THEN p.amount ELSE 0 END) AS credited,
           sum(CASE WHEN p.amount < 0 THEN -p.amount ELSE 0 END) AS debited
    FROM ledger_postings p
    CROSS JOIN ledger_transactions t ON t.id = p.transaction_id
    GROUP BY +p.account_id, t.at / 86400000
  ) AS sums;

UPDATE ledger_accounts
SET credited = coalesce((SELECT d.credited FROM ledger_days d WHERE d.account_id = ledger_accounts.id
                         ORDER BY d.day DESC LIMIT 1), 0),
    debited = coalesce((SELECT d.debited FROM ledger_days d WHERE d.account_id = ledger_accounts.id
                        ORDER BY d.day DESC LIMIT 1), 0);

-- Always empty in a sound ledger, so the audit sees at once whether an account is wrong.
CREATE INDEX ledger_accounts_that_differ ON ledger_accounts (id) WHERE balance <> credited - debited;

-- The audit adds up the open reservations of one account.
CREATE INDEX ledger_holds_of_held ON ledger_holds (held_id, amount) WHERE state = 'open';
