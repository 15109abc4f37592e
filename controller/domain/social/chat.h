#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/social/chat_words.h"

// Chat channels: of lobbies and of tables. Anybody may join one; who has joined reads and writes.
// What goes out is always the text as the words of today filter it; the text as it was written is
// stored sealed and goes nowhere. Functions throw berth::Error: channel_not_found, and forbidden
// where the user hasn't joined.
namespace berth::chat {

inline constexpr size_t max_ref_id_bytes = 128;
inline constexpr size_t max_body_characters = 1'000;
// Of one user in all channels: more than anybody types, less than what fills a screen.
inline constexpr int max_messages_in_window = 20;
inline constexpr Duration sender_window = std::chrono::seconds(10);
inline constexpr int max_channels_of_user = 200;  // that he has joined
inline constexpr int max_members = 20'000;
inline constexpr int max_history = 100;  // messages of one page
inline constexpr int default_history = 50;
// After that messages go (expiry.h).
inline constexpr Duration kept_for = std::chrono::hours(24) * 90;

enum class ChannelType { lobby, table };
std::string_view to_string(ChannelType type);

struct Channel {
  std::string id;
  ChannelType type = ChannelType::lobby;
  std::optional<std::string> ref_id;
  bool joined = false;  // by who asks
};

struct Message {
  std::string id;
  std::string channel_id;
  std::string sender_id;
  std::string sender_username;
  std::string filtered_body;
  Instant sent_at;
};

// The channel of that type and ref_id; where there is none, a new one, which the user has joined.
Channel open(db::Tx& tx, const std::string& user_id, ChannelType type,
             const std::optional<std::string>& ref_id);
Channel get(db::Tx& tx, const std::string& user_id, const std::string& channel_id);
struct ChannelQuery {
  std::optional<ChannelType> type;
  bool only_joined = false;
};
// The newest first.
Page<Channel> list(db::Tx& tx, const std::string& user_id, const ChannelQuery& query,
                   const PageRequest& page);

// May be repeated. Throws invalid_state where a limit is reached.
Channel join(db::Tx& tx, const std::string& user_id, const std::string& channel_id);
// May be repeated.
Channel leave(db::Tx& tx, const std::string& user_id, const std::string& channel_id);
// Throws unless the user has joined it.
void require_member(db::Tx& tx, const std::string& user_id, const std::string& channel_id);

// What it takes to store and to show a text.
struct Texts {
  const std::string& data_key;
  const Filter::Version& words;
};

// Throws validation_failed for a body that is empty, too long or has control characters;
// rate_limited above max_messages_in_window.
Message send(db::Tx& tx, const std::string& user_id, const std::string& channel_id,
             const std::string& body, const Texts& texts);

// The newest `limit` messages, or the newest before the message `before`; oldest first. Without
// those of people who block the user or whom he blocks. Throws validation_failed where `before` is
// no message of the channel.
struct HistoryRequest {
  std::optional<std::string> before;
  int limit = default_history;  // 1 to max_history
};
struct History {
  std::vector<Message> messages;
  bool has_more = false;  // older ones
};
History history(db::Tx& tx, const std::string& user_id, const std::string& channel_id,
                const HistoryRequest& request, const Texts& texts);

// What happened in a channel, in its order: for those who follow it.
struct Entry {
  std::int64_t seq = 0;
  std::string sender_id;
  std::string message_id;
  std::optional<Message> message;  // nothing: the message was deleted by an admin
};
std::int64_t newest_seq(db::Tx& tx, const std::string& channel_id);
// Whether what the sender wrote is shown to the user: neither has blocked the other, and the
// sender's account isn't deleted.
bool may_read(db::Tx& tx, const std::string& user_id, const std::string& sender_id);
// At most `limit` behind `after`, whoever may see them.
std::vector<Entry> entries_after(db::Tx& tx, const std::string& channel_id, std::int64_t after,
                                 int limit, const Texts& texts);

// Takes the message's text away for good; those who follow the channel are told. Throws
// message_not_found.
void delete_message(db::Tx& tx, const std::string& message_id, const std::string& actor);

// Everything that the user wrote, and his memberships; for accounts that are deleted.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::chat
