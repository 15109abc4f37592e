-- Letters of a UTC day to an address that nobody has verified, whoever asked for them: such an
-- address may be a victim's. By a hash, since the account may be deleted meanwhile.
CREATE TABLE unverified_letters (
  address_hash TEXT NOT NULL,
  day          INTEGER NOT NULL,  -- since 1970
  letters      INTEGER NOT NULL,
  PRIMARY KEY (address_hash, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX unverified_letters_by_day ON unverified_letters (day);
