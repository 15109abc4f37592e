#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"

// Mail that waits to be sent. A mail is a row that is committed together with what it is about. Its
// body may contain a token, so it is encrypted with the data key and bound to its row.
namespace berth::outbox {

struct Letter {
  std::string to;
  std::string subject;
  std::string body;
  std::string token = {};  // the token in the body's link; for development
};
// Adds a mail and returns the id of its row.
std::string put(db::Tx& tx, const std::string& data_key, const Letter& letter);

// The ids of at most `most` rows that are due, the longest waiting first.
std::vector<std::string> due(db::Tx& tx, int most);

struct Attempt {
  std::string id;
  Letter letter;
  Instant created_at;
  int number = 0;  // from 1
};
// How many attempts the mail has had; 0 if there is no such mail.
int attempts(db::Tx& tx, const std::string& id);
// Counts an attempt and postpones the next one until `retry_at`, before the mail is sent, so that
// an attempt counts even if berthd crashes. Returns nothing if the mail isn't due, such as after
// another thread or process has begun an attempt, or can't be decrypted with this key; in the last
// case it is marked as failed.
std::optional<Attempt> begin_attempt(db::Tx& tx, const std::string& data_key, const std::string& id,
                                     Instant retry_at);
// The result of an attempt: the server accepted the mail, it has failed for good, or it waits until
// `retry_at`.
void sent(db::Tx& tx, const std::string& id);
void failed(db::Tx& tx, const std::string& id, const std::string& reason);
void postponed(db::Tx& tx, const std::string& id, const std::string& reason, Instant retry_at);

// Whether remove_done() would find a row.
bool is_any_done(db::Tx& tx, Instant sent_before, Instant failed_before);
// Deletes at most `most` rows that were sent, or have failed, before these times. Returns their
// number.
int remove_done(db::Tx& tx, Instant sent_before, Instant failed_before, int most);

// How long mail stays that nobody tried to send: in development, people read it there.
inline constexpr Duration unsent_kept_for = std::chrono::days(90);
// Whether remove_unsent() would find a row.
bool is_any_unsent(db::Tx& tx);
// Deletes at most `limit` rows that nobody tried to send for that long. Returns their number.
int remove_unsent(db::Tx& tx, int limit);

// Delete a mail, and all mail to an address, whatever has become of it.
void remove(db::Tx& tx, const std::string& id);
void forget(db::Tx& tx, const std::string& address);

// The number of mails that wait to be sent.
std::int64_t waiting(db::Tx& tx);

struct Mail : Letter {
  Instant created_at;
  std::optional<Instant> sent_at;
  int attempts = 0;
  std::optional<Instant> failed_at;
  std::optional<std::string> error;  // the mail server's words
};
inline constexpr int max_listed = 200;
// The newest mails. For development only, since it decrypts them. Throws std::runtime_error if one
// can't be decrypted with this key.
std::vector<Mail> list(db::Tx& tx, const std::string& data_key);

}  // namespace berth::outbox
