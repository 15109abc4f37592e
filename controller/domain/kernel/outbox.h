#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"

// Mail that waits to be sent, in rows that commit with what they are about. A body may hold a
// token, so it is sealed with the data key, bound to its row.
namespace berth::outbox {

struct Letter {
  std::string to;
  std::string subject;
  std::string body;
  std::string token = {};  // what a link in the body holds, for development
};
// Returns the row's id.
std::string put(db::Tx& tx, const std::string& data_key, const Letter& letter);

// The ids of rows whose time has come, the longest waiting first.
std::vector<std::string> due(db::Tx& tx, int most);

struct Attempt {
  std::string id;
  Letter letter;
  Instant created_at;
  int number = 0;  // from 1
};
// Counts an attempt and puts the next one off until `retry_at`, so that a crash in between counts,
// too. Nothing where the row doesn't wait any more, or can't be opened with this key: that one has
// failed now.
std::optional<Attempt> begin_attempt(db::Tx& tx, const std::string& data_key, const std::string& id,
                                     Instant retry_at);
// How the attempt went.
void sent(db::Tx& tx, const std::string& id);
void failed(db::Tx& tx, const std::string& id, const std::string& reason);     // for good
void postponed(db::Tx& tx, const std::string& id, const std::string& reason);  // until retry_at

// Removes at most `most` rows that were sent or have failed before these times; how many it were.
int remove_done(db::Tx& tx, Instant sent_before, Instant failed_before, int most);

std::int64_t waiting(db::Tx& tx);

struct Mail : Letter {
  Instant created_at;
  std::optional<Instant> sent_at;
  int attempts = 0;
  std::optional<Instant> failed_at;
  std::optional<std::string> error;  // the mail server's words
};
inline constexpr int max_listed = 200;
// The newest first. For development only: it opens what is sealed. Throws std::runtime_error where
// a row can't be opened with this key.
std::vector<Mail> list(db::Tx& tx, const std::string& data_key);

}  // namespace berth::outbox
