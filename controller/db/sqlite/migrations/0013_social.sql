-- 0013_social.sql: time that was lived in apps, who knows whom, who was there, what was said.

-- Live time that isn't a whole minute yet; each whole one earns the session's reward.
ALTER TABLE play_sessions ADD COLUMN unpaid_ms INTEGER NOT NULL DEFAULT 0
  CHECK (unpaid_ms BETWEEN 0 AND 59999);
-- Up to when a user's time has counted, in whichever app: nobody lives two minutes in one.
CREATE TABLE play_time (
  user_id       TEXT PRIMARY KEY REFERENCES users (id),
  counted_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each two people, whoever asked whom: asking again after an end opens it anew, under
-- another id.
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

-- When somebody was last seen, as it was known some seconds ago: the newest is in memory.
CREATE TABLE presence (
  user_id   TEXT PRIMARY KEY REFERENCES users (id),
  last_seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Search for a part of a username. Every suffix of a name stands here under its beginning, so that
-- a part is a range of this index as a prefix is one of users_searchable, however many users there
-- are. The triggers keep it, so that no way of writing users passes it by.
CREATE INDEX users_searchable ON users (username_key)
  WHERE deleted_at IS NULL AND suspended_at IS NULL;
CREATE TABLE username_suffixes (
  suffix              TEXT NOT NULL,
  registration_number INTEGER NOT NULL,
  PRIMARY KEY (suffix, registration_number)
) STRICT, WITHOUT ROWID;
-- Where a suffix begins: a name has 32 characters at most, and who searches gives 2 at least.
CREATE TABLE suffix_positions (position INTEGER PRIMARY KEY) STRICT;
WITH RECURSIVE positions (position) AS (VALUES (2) UNION ALL SELECT position + 1 FROM positions
  WHERE position < 31)
INSERT INTO suffix_positions (position) SELECT position FROM positions;
INSERT INTO username_suffixes (suffix, registration_number)
  SELECT substr(username_key, position), registration_number FROM users, suffix_positions
  WHERE position < length(username_key) AND deleted_at IS NULL AND suspended_at IS NULL;
CREATE TRIGGER username_suffixes_appear AFTER INSERT ON users
  WHEN NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL
BEGIN
  INSERT INTO username_suffixes (suffix, registration_number)
    SELECT substr(NEW.username_key, position), NEW.registration_number FROM suffix_positions
    WHERE position < length(NEW.username_key);
END;
-- One trigger for both: SQLite doesn't say in which order two of them run.
CREATE TRIGGER username_suffixes_change AFTER UPDATE OF username_key, deleted_at, suspended_at ON users
BEGIN
  DELETE FROM username_suffixes WHERE registration_number = OLD.registration_number
    AND suffix IN (SELECT substr(OLD.username_key, position) FROM suffix_positions);
  INSERT OR IGNORE INTO username_suffixes (suffix, registration_number)
    SELECT substr(NEW.username_key, position), NEW.registration_number FROM suffix_positions
    WHERE position < length(NEW.username_key)
      AND NEW.deleted_at IS NULL AND NEW.suspended_at IS NULL;
END;

CREATE TABLE chat_channels (
  id         TEXT PRIMARY KEY,
  type       TEXT NOT NULL CHECK (type IN ('lobby', 'table')),
  ref_id     TEXT,
  created_at INTEGER NOT NULL
) STRICT;
-- NULLs are never equal to one another: the one lobby without a ref_id counts as ''.
CREATE UNIQUE INDEX chat_channels_by_ref ON chat_channels (type, coalesce(ref_id, ''));

CREATE TABLE chat_members (
  channel_id TEXT NOT NULL REFERENCES chat_channels (id),
  user_id    TEXT NOT NULL REFERENCES users (id),
  joined_at  INTEGER NOT NULL,
  PRIMARY KEY (channel_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_members_by_user ON chat_members (user_id);

-- What happened in the channels, in its order. An admin's deletion empties the message's row and
-- adds one that names it, so that whoever follows a channel hears of it in turn. AUTOINCREMENT: a
-- number is never used twice, since followers remember the last one that they saw.
CREATE TABLE chat_entries (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  channel_id    TEXT NOT NULL REFERENCES chat_channels (id),
  kind          TEXT NOT NULL CHECK (kind IN ('message', 'deleted', 'deletion')),
  message_id    TEXT NOT NULL,
  sender_id     TEXT NOT NULL REFERENCES users (id),
  sealed_body   TEXT,     -- with the data key: what was really written never goes out
  filtered_body TEXT,     -- by the words of words_version
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
CREATE TABLE chat_words (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE chat_words_version (version INTEGER NOT NULL) STRICT;
INSERT INTO chat_words_version (version) VALUES (1);
