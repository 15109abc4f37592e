#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/gate/event_stream.h"
#include "controller/domain/social/chat.h"

// The newest events of the channels that somebody follows, so that each is read and encoded once
// and not once for each follower.
namespace berth::api {

struct ChatEvent {
  std::int64_t seq = 0;
  std::string sender_id;
  std::string message_id;
  Event event;
};
using ChatEvents = std::vector<std::shared_ptr<const ChatEvent>>;

// Of one channel. Thread-safe.
class ChatFeed {
 public:
  // Followers who are further behind read for themselves.
  static constexpr size_t max_events = 256;

  // Knows what comes behind `from`.
  ChatFeed(std::string channel_id, std::int64_t from)
      : channel_id_(std::move(channel_id)), from_(from), to_(from) {}

  // As `tx` sees them: behind `after`, at most event_batch_size, oldest first, whoever may see
  // them.
  ChatEvents after(db::Tx& tx, std::int64_t after, const chat::Texts& texts);

 private:
  void catch_up(db::Tx& tx, std::int64_t newest, const chat::Texts& texts);
  void add(std::shared_ptr<const ChatEvent> event);
  ChatEvents load(db::Tx& tx, std::int64_t after, const chat::Texts& texts) const;

  const std::string channel_id_;
  std::mutex mutex_;
  // Everything behind from_ up to to_, as the words of this version filter it, is in events_.
  std::deque<std::shared_ptr<const ChatEvent>> events_;
  std::int64_t from_;
  std::int64_t to_;
  std::int64_t words_version_ = 0;
};

// Thread-safe.
class ChatFeeds {
 public:
  // The channel's, which all that follow it at one time share. `newest`: where a new one begins.
  std::shared_ptr<ChatFeed> of(const std::string& channel_id, std::int64_t newest);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ChatFeed>> feeds_;
};

}  // namespace berth::api
