#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/shares.h"
#include "controller/db/database.h"
#include "controller/transport/http.h"

// Streams of server-sent events (WHATWG HTML, section 9.2) from the database.
//
// Events are read from rows. A commit wakes the streams that follow its topic (db::Topic), and each
// stream reads on from the last id that it sent. So there is no queue that could overflow, a stream
// that is resumed with Last-Event-ID reads the same rows, and nothing is lost between reading and
// waiting. A stream that waits has no thread. If a client is too slow to take a batch within the
// write timeout, the server closes its connection, and the client comes back with Last-Event-ID.
namespace berth::api {

struct Call;
struct Reply;
struct Services;

// One event. `id` and `name` come from berth and contain no CR, LF or NUL. `data` may contain any
// line ends.
struct Event {
  std::string id;
  std::string name;
  std::string data;
};
// The lines of an event, including the empty line that ends it. Each line of `data` becomes a field
// of its own, and the client joins them with LF again. A CR ends a line in this format too, so it
// arrives as an LF. An empty `id` is left out, which keeps the previous id; an empty `name` means
// "message".
std::string encode_event(const Event& event);
// The same for an event without an id whose data is JSON. Bytes that aren't UTF-8 are replaced.
std::string encode_event(std::string_view name, const nlohmann::json& data);
// A comment line, which clients ignore. If sending it fails, the client is gone.
std::string encode_heartbeat();
// A line that tells the client how long to wait before it resumes a broken stream.
std::string encode_retry(std::chrono::milliseconds wait);
// An id without an event. Clients remember it, and dispatch nothing (section 9.2.6), so whoever
// resumes the stream before its first event misses none. Empty for "" and for negative numbers,
// which are no ids.
std::string encode_position(std::string_view id);

// Returns the id after which the client wants to continue; nothing for a first connection. Throws
// malformed_request if it is longer than any of berth's ids or contains characters that no id can
// have.
std::optional<std::string> last_event_id(const Request& request);
inline constexpr std::size_t max_event_id_bytes = 128;
// Like last_event_id(), for ids that are row ids: 1 to 2^63-1 without a sign, or 0, the position
// before the first row.
std::optional<std::int64_t> last_event_number(const Request& request);

// The id that a stream follows if it shows events of more than one app. Each event of any app wakes
// all of these streams.
inline constexpr const char* events_of_all_apps = "";

// The place where streams wait for commits. Thread-safe, and has to outlive its subscriptions.
class EventHub {
 public:
  struct Limits {
    // Each stream occupies a connection, and other requests need connections too.
    std::size_t streams = 768;
    // The limit for one user: enough for a few pages with several streams each.
    std::size_t streams_of_one = 32;
    // Exports read all the time, while streams mostly wait.
    std::size_t exports = 32;
    std::size_t exports_of_one = 4;
  };
  EventHub() : EventHub(Limits{}) {}
  explicit EventHub(Limits limits)
      : streams_{.shares = {Pool::streams, limits.streams}, .of_one = limits.streams_of_one},
        exports_{.shares = {Pool::exports, limits.exports}, .of_one = limits.exports_of_one} {}
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  class Subscription;

 private:
  struct Channel {
    std::mutex mutex;
    std::list<Subscription*> subscribers;  // guarded by `mutex`, and changed with the hub's as well
  };
  using Key = std::pair<db::Topic, std::string>;
  // The places for one kind of answers that go on.
  struct Places {
    Shares shares;
    const std::size_t of_one;
    std::map<std::string, std::size_t> holders = {};  // how many each holder has, if any
  };

 public:
  class Subscription {
   public:
    Subscription(EventHub& hub, Key key, std::shared_ptr<Waker> waker);
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    // Returns whether there was a wake() since the last call, or since the subscription for the
    // first call. The waker is woken once until the next call.
    bool take_news() { return news_.exchange(false); }

   private:
    friend class EventHub;
    void tell();

    EventHub& hub_;
    const Key key_;
    const std::shared_ptr<Waker> waker_;
    std::list<Subscription*>::iterator place_;  // in the channel, whose initializer sets it
    const std::shared_ptr<Channel> channel_;
    std::atomic<bool> news_ = false;
  };
  // The permission to keep a stream open or to send an export, for the lifetime of this object.
  class Permit {
   public:
    Permit(EventHub& hub, Places& places, std::string holder);
    ~Permit();
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

   private:
    EventHub& hub_;
    Places& places_;
    const std::string holder_;
    Shares::Claim claim_;
  };

  // Throws rate_limited if `holder` has too many streams, or the claimant of the calling thread has
  // its share of them (base/shares.h); and unavailable if all holders together have too many. The
  // errors contain the time after which connections whose clients are gone have been noticed.
  std::unique_ptr<Permit> admit(const std::string& holder) {
    return std::make_unique<Permit>(*this, streams_, holder);
  }
  // The same for an answer that sends what there is and ends, as fast as the client takes it.
  std::unique_ptr<Permit> admit_export(const std::string& holder) {
    return std::make_unique<Permit>(*this, exports_, holder);
  }
  // `waker` is woken by each wake() of this topic and id.
  std::unique_ptr<Subscription> subscribe(db::Topic topic, const std::string& id,
                                          std::shared_ptr<Waker> waker) {
    return std::make_unique<Subscription>(*this, Key(topic, id), std::move(waker));
  }
  // Wakes the subscribers of a topic and id, if there are any. Doesn't wait for them; the database
  // calls it after commits.
  void wake(db::Topic topic, const std::string& id);
  // Wakes all subscribers, after notices may have been lost.
  void wake_all();

  // The number of streams that are open now, for metrics.
  std::size_t open_streams() const { return streams_.shares.used(); }

 private:
  Places streams_;  // their holders are guarded by `mutex_`
  Places exports_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Channel>> channels_;  // only those with subscribers
};

// Some events in order, and whether more may follow later.
struct EventBatch {
  // Adds an event with an id, or the text that encode_event() makes of one.
  void add(const Event& event) { add(event.id, encode_event(event)); }
  void add(std::string_view id, std::string_view encoded) {
    text += encoded;
    last_id = id;
    ++events;
  }

  std::string text;
  std::string last_id;
  std::size_t events = 0;
  bool is_last = false;  // no event can follow these
  // For streams that skip rows, such as those of other apps: the id after which the next reading
  // begins (empty: the id of the last event), and whether there are already rows after it.
  std::string read_to = {};
  bool behind = false;
};
// The most events that are read, kept in memory and sent at once.
inline constexpr std::size_t event_batch_size = 100;

// What a stream follows.
struct Following {
  db::Topic topic;
  std::string id;     // the id within the topic
  std::string after;  // the id of the last event that the client has
  // Returns the events after `after`, oldest first and at most event_batch_size. It is called with
  // a snapshot, once at the beginning and then after each commit that concerned topic and id. An
  // exception ends the stream; an Error means that the client may not see the events any more.
  std::function<EventBatch(db::Tx& tx, const std::string& after)> read;
  // How long a stream that was woken waits for further commits before it reads.
  std::chrono::milliseconds gather{0};
};

// Answers with a stream of events. The stream ends when the caller's token expires, is revoked or
// loses its scope: no event is sent after that, and an idle stream notices it within
// `bearer_check_interval`. Throws like EventHub::admit().
Reply follow_events(const Call& call, const Services& services, Following following);

// The parts of follow_events(), for streams that don't come from the database.
//
// Where several berthd processes may be on a database, a stream without news reads again after this
// time. So a lost notification of a commit at another process delays an event no longer than this.
inline constexpr std::chrono::seconds reread_interval{5};
// How long a stream may go on before its token is checked again.
inline constexpr std::chrono::seconds bearer_check_interval{5};
// The time between two comment lines. They show whether the client is still there, and keep proxies
// from closing the connection: common ones do so after 60 s of silence, and the standard recommends
// a comment every 15 s (section 9.2.7).
inline constexpr std::chrono::seconds heartbeat_interval{15};

// What a stream says, and that it is there while it has nothing to say. Used by one thread at a
// time.
class Voice {
 public:
  enum class Heartbeats { no, yes };  // only streams of events have them
  explicit Voice(Heartbeats heartbeats) : heartbeats_(heartbeats) {}
  // Sends the text, if there is any, and otherwise a heartbeat, if nothing was sent for
  // heartbeat_interval. Returns whether there was text.
  bool speak(const Sink& sink, const std::string& text);
  // When it is time for a heartbeat, if there is no text before.
  std::chrono::steady_clock::time_point next_heartbeat() const {
    return spoke_ + heartbeat_interval;
  }

 private:
  const Heartbeats heartbeats_;
  std::chrono::steady_clock::time_point spoke_ = std::chrono::steady_clock::now();
};

// Checks whether what a call has shown still gives access to its route: its token, or below
// /api/internal/ the session, token or secret of an admin and their role (admin_check()). Copies
// what it needs from the call.
class BearerCheck {
 public:
  BearerCheck(const Call& call, const Services& services);
  // Checks it in this transaction. Throws like authenticate(), or like admin_check().
  void in(db::Tx& tx) const;
  // Checks the token if the last check is older than the interval. Returns false if the stream has
  // to end.
  bool still_good();
  // When still_good() checks the token next.
  std::chrono::steady_clock::time_point next_check() const {
    return checked_ + bearer_check_interval;
  }
  // Who holds the stream: the user behind the token, or the internal secret that an admin made;
  // without one, the caller's network.
  const std::string& holder() const { return holder_; }

 private:
  const Services& services_;
  std::function<void(db::Tx&)> check_;
  std::string holder_;
  std::chrono::steady_clock::time_point checked_ = std::chrono::steady_clock::now();
};

// An answer of type text/event-stream, with headers that keep proxies from buffering it.
Reply event_reply(Stream stream);

}  // namespace berth::api
