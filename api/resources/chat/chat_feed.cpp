#include "api/resources/chat/chat_feed.h"

#include <algorithm>

#include "api/gate/services.h"
#include "api/resources/chat/encode.h"

namespace berth::api {
namespace {

std::shared_ptr<const ChatEvent> encode(const chat::Entry& entry) {
  ChatEvent event = {.seq = entry.seq,
                     .sender_id = entry.sender_id,
                     .message_id = entry.message_id,
                     .is_deletion = !entry.message,
                     .text = {}};
  const nlohmann::json data =
      entry.message ? encode_message(*entry.message) : nlohmann::json{{"id", entry.message_id}};
  event.text =
      encode_event({.id = std::to_string(entry.seq),
                    .name = entry.message ? "message" : "deleted",
                    .data = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
  return std::make_shared<const ChatEvent>(std::move(event));
}

}  // namespace

ChatEvents ChatFeed::load(db::Tx& tx, std::int64_t after, const chat::Texts& texts) const {
  ChatEvents loaded;
  for (const chat::Entry& entry :
       chat::entries_after(tx, channel_id_, after, int(event_batch_size), texts))
    loaded.push_back(encode(entry));
  return loaded;
}

ChatEvents ChatFeed::after(db::Tx& tx, std::int64_t after, const chat::Texts& texts) {
  const std::int64_t newest = chat::newest_seq(tx, channel_id_);
  if (newest <= after) return {};
  {
    const std::lock_guard lock(mutex_);
    if (words_version_ != texts.words.number) {
      if (!events_.empty()) from_ = to_;
      events_.clear();
      words_version_ = texts.words.number;
    }
    if (after >= from_) {
      catch_up(tx, newest, texts);
      ChatEvents behind;
      auto next = std::ranges::upper_bound(
          events_, after, {}, [](const std::shared_ptr<const ChatEvent>& e) { return e->seq; });
      // This snapshot may be older than the one that brought the latest events.
      for (; next != events_.end() && (*next)->seq <= newest; ++next) {
        if (behind.size() == event_batch_size) break;
        behind.push_back(*next);
      }
      if (after >= from_) return behind;
    }
  }
  return load(tx, after, texts);
}

void ChatFeed::catch_up(db::Tx& tx, std::int64_t newest, const chat::Texts& texts) {
  while (to_ < newest) {
    const ChatEvents more = load(tx, to_, texts);
    for (const auto& event : more) add(event);
    // The numbers in between belong to events that have been removed.
    to_ = more.empty() ? newest : more.back()->seq;
  }
}

void ChatFeed::add(std::shared_ptr<const ChatEvent> event) {
  if (event->is_deletion)
    std::erase_if(events_, [&](const auto& known) {
      return known->message_id == event->message_id && !known->is_deletion;
    });
  events_.push_back(std::move(event));
  if (events_.size() <= max_events) return;
  from_ = events_.front()->seq;
  events_.pop_front();
}

std::shared_ptr<ChatFeed> ChatFeeds::of(const std::string& channel_id, std::int64_t newest) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<ChatFeed>& known = feeds_[channel_id];
  if (auto feed = known.lock()) return feed;
  auto feed = std::make_shared<ChatFeed>(channel_id, newest);
  known = feed;
  std::erase_if(feeds_, [](const auto& entry) { return entry.second.expired(); });
  return feed;
}

std::shared_ptr<ChatFeeds> make_chat_feeds() { return std::make_shared<ChatFeeds>(); }

}  // namespace berth::api
