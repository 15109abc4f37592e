#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/gate/call.h"
#include "api/gate/event_stream.h"
#include "controller/domain/social/chat.h"

// The newest events of channels that have followers, so that each event is read and encoded once,
// not once for each follower.
namespace berth::api {

struct ChatEvent {
  std::int64_t seq = 0;
  std::string sender_id;
  std::string message_id;
  bool is_deletion = false;
  std::string text;  // the encoded event
};
using ChatEvents = std::vector<std::shared_ptr<const ChatEvent>>;

// The feed of one channel. Thread-safe.
class ChatFeed {
 public:
  // Followers who are further behind read from the database.
  static constexpr size_t max_events = 256;

  // A feed of the events after `from`.
  ChatFeed(std::string channel_id, std::int64_t from)
      : channel_id_(std::move(channel_id)), from_(from), to_(from) {}

  // The events after `after` as `tx` sees them: oldest first, at most event_batch_size, and
  // regardless of who may see them.
  ChatEvents after(db::Tx& tx, std::int64_t after, const chat::Texts& texts);

 private:
  void catch_up(db::Tx& tx, std::int64_t newest, const chat::Texts& texts);
  void add(std::shared_ptr<const ChatEvent> event);
  ChatEvents load(db::Tx& tx, std::int64_t after, const chat::Texts& texts) const;

  const std::string channel_id_;
  std::mutex mutex_;
  // events_ has all events after from_ up to to_, filtered with the word list of this version.
  std::deque<std::shared_ptr<const ChatEvent>> events_;
  std::int64_t from_;
  std::int64_t to_;
  std::int64_t words_version_ = 0;
};

// The feeds of all channels. Thread-safe.
class ChatFeeds {
 public:
  // The channel's feed, which all its followers share. A new feed begins at `newest`.
  std::shared_ptr<ChatFeed> of(const std::string& channel_id, std::int64_t newest);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ChatFeed>> feeds_;
};

// The handler of the events of a channel.
Reply follow_channel(const Call& call, const Services& services);

}  // namespace berth::api
