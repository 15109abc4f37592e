#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/transport/http.h"
#include "controller/db/database.h"

// Server-sent events (WHATWG HTML, section 9.2) out of the database.
//
// What is sent are rows. A commit wakes those who follow what it was about (db::Topic), and each
// reads on from the last id that it sent: so nobody has a queue that could run full, a stream that
// is taken up again with Last-Event-ID reads the same rows, and nothing is lost between reading and
// waiting. A follower who is too slow to take a batch within the write timeout is closed by the
// server and comes back with Last-Event-ID.
namespace berth::api {

struct Call;
struct Reply;
struct Services;

// One event. `id` and `name` are ours: without CR, LF and NUL. `data` may have any line ends.
struct Event {
  std::string id;
  std::string name;
  std::string data;
};
// Its lines, with the empty one that sends it off. Each line of `data` gets a field of its own, so
// that the other side puts them together with LF; a CR, which ends a line there too, becomes an LF.
// An empty `id` is left out, which leaves the last one in force; an empty `name` means "message".
std::string encode_event(const Event& event);
// A comment: read over by the other side, but its loss shows that nobody is there.
std::string encode_heartbeat();
// For how long to wait before a broken stream is taken up again.
std::string encode_retry(std::chrono::milliseconds wait);

// The id after which the caller wants to go on; nothing where it is the first time. Throws
// malformed_request for one that is longer than any of ours or that no event could have had.
std::optional<std::string> last_event_id(const Request& request);
inline constexpr std::size_t max_event_id_bytes = 128;
// The same, where ids are row ids: 1 to 2^63-1 without a sign.
std::optional<std::int64_t> last_event_number(const Request& request);

// Where streams wait for commits. Thread-safe; outlives its subscriptions.
class EventHub {
 public:
  struct Limits {
    // Each stream has a connection, which other requests need too.
    std::size_t streams = 768;
    // So that one user doesn't take them all; a page or two with a few streams each.
    std::size_t streams_of_one = 32;
  };
  EventHub() : EventHub(Limits{}) {}
  explicit EventHub(Limits limits) : limits_(limits) {}
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

 private:
  struct Channel {
    std::mutex mutex;
    std::condition_variable woken;
    std::uint64_t news = 0;       // guarded by `mutex`
    std::size_t subscribers = 0;  // guarded by the hub's
  };
  using Key = std::pair<db::Topic, std::string>;

 public:
  class Subscription {
   public:
    Subscription(EventHub& hub, Key key);
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    // True where there was a wake() since the last call (or since the subscription); waits for one
    // at most that long.
    bool wait(std::chrono::milliseconds patience);

   private:
    EventHub& hub_;
    const Key key_;
    const std::shared_ptr<Channel> channel_;
    std::uint64_t seen_;
  };
  // The right to hold a stream open.
  class Permit {
   public:
    Permit(EventHub& hub, std::string holder);
    ~Permit();
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

   private:
    EventHub& hub_;
    const std::string holder_;
  };

  // Throws rate_limited where `holder` has too many streams, unavailable where all have; both with
  // the time after which connections that nobody holds any more have been noticed.
  std::unique_ptr<Permit> admit(const std::string& holder) {
    return std::make_unique<Permit>(*this, holder);
  }
  std::unique_ptr<Subscription> subscribe(db::Topic topic, const std::string& id) {
    return std::make_unique<Subscription>(*this, Key(topic, id));
  }
  // Quick and never waits: called by the database after commits. Nobody listens: nothing happens.
  void wake(db::Topic topic, const std::string& id);

  std::size_t open_streams() const;

 private:
  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Channel>> channels_;  // those that somebody follows
  std::map<std::string, std::size_t> holders_;        // those that have streams
  std::size_t streams_ = 0;
};

// Some events in their order, and whether more can come ever.
struct EventBatch {
  std::vector<Event> events;  // each with an id
  Next next = Next::more;
};
// So much is read, held and sent at once.
inline constexpr std::size_t event_batch_size = 100;

// What a stream follows.
struct Following {
  db::Topic topic;
  std::string id;     // of the topic
  std::string after;  // the id of the last event that the caller has
  // Those behind `after`, at most event_batch_size, oldest first. Called on a snapshot, first at
  // once and then whenever a commit was about topic and id. What it throws ends the stream; an
  // Error is the way to say that the caller may not see this any more.
  std::function<EventBatch(db::Tx& tx, const std::string& after)> read;
};

// The stream ends when the caller's token ends, is revoked or loses its scope: nothing is sent
// after that, and a silent stream notices within `bearer_check_interval`. Throws as
// EventHub::admit.
Reply follow_events(const Call& call, const Services& services, Following following);

// The parts of it, for streams that don't come out of the database.
inline constexpr std::chrono::seconds bearer_check_interval{5};
// Dead peers are noticed, and proxies keep the connection: common ones close after 60 s of silence,
// the standard recommends a comment each 15 s (section 9.2.7).
inline constexpr std::chrono::seconds heartbeat_interval{15};

// Whether the token that a call came with still opens its route; copies what it needs of the call.
class BearerCheck {
 public:
  BearerCheck(const Call& call, const Services& services);
  // Throws what the gate would throw.
  void in(db::Tx& tx) const;
  // Looks at it if the last look is longer ago than the interval; false: end the stream.
  bool still_good();
  // Who holds the stream: the user behind the token.
  const std::string& holder() const { return holder_; }

 private:
  const Services& services_;
  std::function<void(db::Tx&)> check_;
  std::string holder_;
  std::chrono::steady_clock::time_point checked_ = std::chrono::steady_clock::now();
};

// An answer of text/event-stream: with what keeps proxies from holding it back.
Reply event_reply(Stream stream);

}  // namespace berth::api
