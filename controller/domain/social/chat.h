#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/social/chat_words.h"

// Chat channels for lobbies and tables. Every user may join a channel; members read and write. What
// members get is always the text filtered with the present word list. The original text is stored
// encrypted and never leaves berthd. The functions throw berth::Error: channel_not_found, and
// forbidden if the user isn't a member.
namespace berth::chat {

inline constexpr size_t max_ref_id_bytes = 128;
inline constexpr size_t max_body_characters = 1'000;
// The limit for one user over all channels: more than anybody types, but less than fills a screen.
inline constexpr int max_messages_in_window = 20;
inline constexpr Duration sender_window = std::chrono::seconds(10);
inline constexpr int max_channels_of_user = 200;  // how many channels a user may be a member of
inline constexpr int max_members = 20'000;
inline constexpr int max_history = 100;  // messages on one page
inline constexpr int default_history = 50;
// Messages are deleted after this time.
inline constexpr Duration kept_for = std::chrono::hours(24) * 90;

enum class ChannelType { lobby, table };
constexpr auto texts_of(ChannelType) { return EnumTexts<ChannelType::table>{"lobby", "table"}; }

struct Channel {
  std::string id;
  ChannelType type = ChannelType::lobby;
  std::optional<std::string> ref_id;
  bool joined = false;  // the requesting user is a member
};

struct Message {
  std::string id;
  std::string channel_id;
  std::string sender_id;
  std::string sender_username;
  std::string filtered_body;
  Instant sent_at;
};

// The channel with that type and ref_id. If there is none, creates it, and the user becomes a
// member. Throws validation_failed if the ref_id is too long, or missing for a table, and
// invalid_state if a limit is reached.
Channel open(db::Tx& tx, const std::string& user_id, ChannelType type,
             const std::optional<std::string>& ref_id);
// Returns the channel to any user, member or not. Throws channel_not_found.
Channel get(db::Tx& tx, const std::string& user_id, const std::string& channel_id);
struct ChannelQuery {
  std::optional<ChannelType> type;
  bool only_joined = false;
};
// The channels that match the query, newest first.
Page<Channel> list(db::Tx& tx, const std::string& user_id, const ChannelQuery& query,
                   const PageRequest& page);

// Makes the user a member. May be repeated. Throws invalid_state if a limit is reached.
Channel join(db::Tx& tx, const std::string& user_id, const std::string& channel_id);
// Ends the membership. May be repeated.
Channel leave(db::Tx& tx, const std::string& user_id, const std::string& channel_id);
// Throws channel_not_found, or forbidden if the user isn't a member.
void require_member(db::Tx& tx, const std::string& user_id, const std::string& channel_id);

// What is needed to store and to show a text.
struct Texts {
  const std::string& data_key;
  const Filter::Version& words;
};

// Stores a message. Throws validation_failed if the body is empty, too long or contains control
// characters, and rate_limited above max_messages_in_window.
Message send(db::Tx& tx, const std::string& user_id, const std::string& channel_id,
             const std::string& body, const Texts& texts);

// The newest `limit` messages, or the newest ones before the message `before`; oldest first.
// Messages of users with a block between them and the user are left out. Throws validation_failed
// if `before` isn't a message of the channel.
struct HistoryRequest {
  std::optional<std::string> before;
  int limit = default_history;  // 1 to max_history
};
struct History {
  std::vector<Message> messages;
  bool has_more = false;  // there are older messages
};
History history(db::Tx& tx, const std::string& user_id, const std::string& channel_id,
                const HistoryRequest& request, const Texts& texts);

// An entry of a channel's log, in order; for those who follow the channel.
struct Entry {
  std::int64_t seq = 0;
  std::string sender_id;
  std::string message_id;
  std::optional<Message> message;  // empty: an administrator has deleted the message
};
// The number of the channel's newest entry; 0 if it has none.
std::int64_t newest_seq(db::Tx& tx, const std::string& channel_id);
// Whether the user may see messages of the sender: there is no block between the two, and the
// sender's account isn't deleted.
bool may_read(db::Tx& tx, const std::string& user_id, const std::string& sender_id);
// The entries after `after`, at most `limit`, regardless of who may see them.
std::vector<Entry> entries_after(db::Tx& tx, const std::string& channel_id, std::int64_t after,
                                 int limit, const Texts& texts);

// Deletes the message's text for good, and tells those who follow the channel. Throws
// message_not_found.
void delete_message(db::Tx& tx, const std::string& message_id, const std::string& actor);

// Whether remove_old() would find an entry.
bool is_any_old(db::Tx& tx);
// Deletes at most `limit` entries that are older than kept_for. Returns their number.
int remove_old(db::Tx& tx, int limit);

// Whether remove_abandoned() would find a channel.
bool is_any_abandoned(db::Tx& tx);
// Deletes at most `limit` channels that nobody has been in for kept_for and that have no messages
// left. Returns their number. Opening such a channel again makes a new one.
int remove_abandoned(db::Tx& tx, int limit);

// For accounts that are deleted: removes the user's memberships.
void forget(db::Tx& tx, const std::string& user_id);
// For accounts that are deleted: deletes at most `limit` of the user's messages. Returns their
// number.
int erase(db::Tx& tx, const std::string& user_id, int limit);

}  // namespace berth::chat
