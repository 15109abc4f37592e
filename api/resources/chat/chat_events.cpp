// Chat as server-sent events.
#include <algorithm>

#include "api/resources/chat/chat_feed.h"

namespace berth::api {
namespace {

// One follower of a channel, and what they are sent.
class ChatFollower {
 public:
  ChatFollower(std::string user_id, std::string channel_id, std::int64_t after, std::int64_t newest,
               const Services& services)
      : user_id_(std::move(user_id)),
        channel_id_(std::move(channel_id)),
        after_(after),
        services_(services),
        feed_(services.memory.chat_feeds->of(channel_id_, newest)) {}

  EventBatch read(db::Tx& tx) {
    chat::require_member(tx, user_id_, channel_id_);
    const auto words = services_.memory.chat_filter->at(tx);
    EventBatch batch;
    // Events that the follower may not see don't count, so that a batch that isn't full means the
    // end.
    for (bool more = true; more;) {
      const ChatEvents behind =
          feed_->after(tx, after_, {.data_key = services_.keys.data, .words = *words});
      more = behind.size() == event_batch_size;
      for (const auto& event : behind) {
        if (batch.events == event_batch_size) return batch;
        after_ = event->seq;
        if (chat::may_read(tx, user_id_, event->sender_id))
          batch.add(std::to_string(event->seq), event->text);
      }
    }
    return batch;
  }

 private:
  const std::string user_id_;
  const std::string channel_id_;
  std::int64_t after_;
  const Services& services_;
  const std::shared_ptr<ChatFeed> feed_;
};

}  // namespace

Reply follow_channel(const Call& call, const Services& services) {
  const auto last = last_event_number(call.http);
  const std::int64_t newest = services.db.read([&](db::Tx& tx) {
    chat::require_member(tx, call.user->id, call.id());
    return chat::newest_seq(tx, call.id());
  });
  // A number that is too high comes from a database that has since been restored from a backup.
  const std::int64_t after = std::min(last.value_or(newest), newest);
  const auto follower =
      std::make_shared<ChatFollower>(call.user->id, call.id(), after, newest, services);
  return follow_events(
      call, services,
      {.topic = db::Topic::chat,
       .id = call.id(),
       .after = std::to_string(after),
       .read = [follower](db::Tx& tx, const std::string&) { return follower->read(tx); }});
}

}  // namespace berth::api
