#include "api/gate/event_stream.h"

#include <algorithm>
#include <random>

#include "api/gate/admin_caller.h"
#include "api/gate/authenticate.h"
#include "api/gate/call.h"

namespace berth::api {
namespace {

// How long a client waits before it resumes a broken stream. The time is random, so that the
// clients that a restart has cut off don't all come back at the same moment.
constexpr std::chrono::milliseconds shortest_retry{1000};
constexpr std::chrono::milliseconds longest_retry{4000};

std::chrono::milliseconds random_retry() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(
      shortest_retry.count(), longest_retry.count())(random));
}

// Sends the events of one stream, which it reads from the database.
class Follower {
 public:
  Follower(const Call& call, const Services& services, Following following)
      : services_(services),
        following_(std::move(following)),
        bearer_(call, services),
        permit_(services.memory.events->admit(bearer_.holder())),
        subscription_(services.memory.events->subscribe(following_.topic, following_.id, waker_)) {}

  const std::shared_ptr<Waker>& waker() const { return waker_; }

  Next step(const Sink& sink) {
    const Time now = Clock::now();
    const bool has_news = subscription_->take_news();
    if (!started_) {
      sink(encode_retry(random_retry()) + encode_position(following_.after));
      started_ = true;
      due_ = now;
    } else if (has_news) {
      due_ = std::min(due_, now + following_.gather);
    }
    if (behind_ || now >= std::min(due_, reread_at())) {
      if (!send_news(sink)) return Next::end;
    } else if (!bearer_.still_good()) {
      return Next::end;
    }
    if (behind_) return Next::more;
    if (Clock::now() >= spoke_ + heartbeat_interval) {
      spoke_ = Clock::now();
      sink(has_skipped_ ? encode_position(following_.after) : encode_heartbeat());
      has_skipped_ = false;
    }
    return Next::on_news(
        std::min({due_, reread_at(), bearer_.next_check(), spoke_ + heartbeat_interval}));
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  Time reread_at() const {
    return services_.replicas == nullptr ? Time::max() : read_ + reread_interval;
  }

  // Returns false if the stream has to end.
  bool send_news(const Sink& sink) {
    due_ = Time::max();
    read_ = Clock::now();
    EventBatch batch;
    try {
      batch = services_.db.read([&](db::Tx& tx) {
        bearer_.in(tx);
        return following_.read(tx, following_.after);
      });
    } catch (const Error&) {
      return false;  // the client is told the reason when it connects again
    }
    behind_ = batch.behind || batch.events >= event_batch_size;
    if (!batch.read_to.empty()) {
      has_skipped_ = batch.read_to != (batch.events > 0 ? batch.last_id : following_.after) ||
                     (has_skipped_ && batch.events == 0);
      following_.after = batch.read_to;
    } else if (batch.events > 0) {
      following_.after = batch.last_id;
    }
    if (batch.events > 0) {
      sink(batch.text);
      spoke_ = Clock::now();
    }
    return behind_ || !batch.is_last;
  }

  const Services& services_;
  Following following_;
  BearerCheck bearer_;
  const std::unique_ptr<EventHub::Permit> permit_;
  const std::shared_ptr<Waker> waker_ = std::make_shared<Waker>();
  const std::unique_ptr<EventHub::Subscription> subscription_;
  Time spoke_ = Clock::now();  // when something was last sent
  Time read_;                  // when the database was last read
  Time due_ = Time::max();     // when it is read because of news
  bool started_ = false;
  bool has_skipped_ = false;  // rows that aren't for the client, who doesn't know the position
  bool behind_ = false;
};

Error full(Code code, const std::string& message) {
  Error refusal(code, message);
  refusal.retry_after = heartbeat_interval;
  return refusal;
}

std::function<void(db::Tx&)> check_of(const Call& call, const Services& services) {
  if (!call.admin.empty()) return admin_check(call, services);
  return [route = call.route, path = call.path, shown = shown_by(call.http, services),
          &services](db::Tx& tx) { check_bearer(tx, *route, path, shown, services); };
}

std::string holder_of(const Call& call) {
  if (call.caller) return call.caller->user_id;
  if (call.play) return call.play->user_id;
  if (call.user) return call.user->id;
  if (!call.admin_token_id.empty()) return call.admin_token_id;
  return network_of(call.address);
}

}  // namespace

bool Voice::speak(const Sink& sink, const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (text.empty() && now < next_heartbeat()) return false;
  spoke_ = now;
  if (!text.empty())
    sink(text);
  else if (heartbeats_ == Heartbeats::yes)
    sink(encode_heartbeat());
  return !text.empty();
}

EventHub::Subscription::Subscription(EventHub& hub, Key key, std::shared_ptr<Waker> waker)
    : hub_(hub), key_(std::move(key)), waker_(std::move(waker)), channel_([&] {
        const std::lock_guard lock(hub.mutex_);
        auto& channel = hub.channels_[key_];
        if (!channel) channel = std::make_shared<Channel>();
        const std::lock_guard own(channel->mutex);
        place_ = channel->subscribers.insert(channel->subscribers.end(), this);
        return channel;
      }()) {}

EventHub::Subscription::~Subscription() {
  const std::lock_guard lock(hub_.mutex_);
  const std::lock_guard own(channel_->mutex);
  channel_->subscribers.erase(place_);
  if (channel_->subscribers.empty()) hub_.channels_.erase(key_);
}

void EventHub::Subscription::tell() {
  if (!news_.exchange(true)) waker_->wake();
}

EventHub::Permit::Permit(EventHub& hub, Places& places, std::string holder)
    : hub_(hub),
      places_(places),
      holder_(std::move(holder)),
      claim_(places.shares, Claimant::of_thread()) {
  const std::string what = &places == &hub.exports_ ? "exports" : "streams";
  const Shares::Taken taken = claim_.take();
  if (taken == Shares::Taken::full)
    throw full(Code::unavailable, "too many " + what + " are open at the moment; try again later");
  if (taken == Shares::Taken::over_share)
    throw full(Code::rate_limited, "few " + what +
                                       " are left, and your account or network has its share of "
                                       "them; try again later");
  const std::lock_guard lock(hub_.mutex_);
  std::size_t& held = places_.holders[holder_];
  if (held >= places_.of_one)
    throw full(Code::rate_limited, "at most " + std::to_string(places_.of_one) + " " + what +
                                       " of one user may be open at the same time");
  ++held;
}

EventHub::Permit::~Permit() {
  const std::lock_guard lock(hub_.mutex_);
  const auto held = places_.holders.find(holder_);
  if (--held->second == 0) places_.holders.erase(held);
}

void EventHub::wake(db::Topic topic, const std::string& id) {
  std::shared_ptr<Channel> channel;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(Key(topic, id));
    if (found == channels_.end()) return;
    channel = found->second;
  }
  const std::lock_guard lock(channel->mutex);
  for (Subscription* const subscription : channel->subscribers) subscription->tell();
}

void EventHub::wake_all() {
  const std::lock_guard all(mutex_);
  for (const auto& [key, channel] : channels_) {
    const std::lock_guard lock(channel->mutex);
    for (Subscription* const subscription : channel->subscribers) subscription->tell();
  }
}

BearerCheck::BearerCheck(const Call& call, const Services& services)
    : services_(services), check_(check_of(call, services)), holder_(holder_of(call)) {}

void BearerCheck::in(db::Tx& tx) const { check_(tx); }

bool BearerCheck::still_good() {
  const auto now = std::chrono::steady_clock::now();
  if (now - checked_ < bearer_check_interval) return true;
  checked_ = now;
  try {
    services_.db.read_committed(check_);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Reply event_reply(Stream stream) {
  Reply reply;
  reply.stream = std::move(stream);
  reply.content_type = "text/event-stream";
  // X-Accel-Buffering is for nginx, which would otherwise buffer the answer (ngx_http_proxy_module,
  // proxy_buffering).
  reply.headers = {{"X-Accel-Buffering", "no"}};
  return reply;
}

Reply follow_events(const Call& call, const Services& services, Following following) {
  const auto follower = std::make_shared<Follower>(call, services, std::move(following));
  return event_reply(
      Stream([follower](const Sink& sink) { return follower->step(sink); }, follower->waker()));
}

}  // namespace berth::api
