-- The same double entry in PostgreSQL: a spend as one function, called by pgbench without HTTP.
CREATE TABLE accounts (
  id      BIGINT PRIMARY KEY,
  balance BIGINT NOT NULL CHECK (balance >= 0)
);
CREATE TABLE transactions (
  id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind            TEXT NOT NULL,
  idempotency_key TEXT NOT NULL UNIQUE,
  at              BIGINT NOT NULL
);
CREATE TABLE postings (
  id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  transaction_id BIGINT NOT NULL,
  account_id     BIGINT NOT NULL,
  amount         BIGINT NOT NULL
);
CREATE INDEX postings_by_account ON postings (account_id, id);
INSERT INTO accounts SELECT number, 1000000000 FROM generate_series(1, 100000) AS number;

CREATE FUNCTION spend(payer BIGINT, payee BIGINT, points BIGINT, key TEXT) RETURNS BIGINT
LANGUAGE plpgsql AS $$
DECLARE
  made BIGINT;
BEGIN
  INSERT INTO transactions (kind, idempotency_key, at) VALUES ('spend', key, 1) RETURNING id INTO made;
  UPDATE accounts SET balance = balance - points WHERE id = payer;
  UPDATE accounts SET balance = balance + points WHERE id = payee;
  INSERT INTO postings (transaction_id, account_id, amount)
    VALUES (made, payer, -points), (made, payee, points);
  RETURN made;
END $$;
