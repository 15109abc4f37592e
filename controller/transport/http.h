#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace berth::api {

inline constexpr std::string_view line_end = "\r\n";

// Makes the value like a new one and frees the memory that it holds. An assignment of an empty
// string or list doesn't do the latter: it keeps the memory for the next content.
template <typename T>
void free_memory(T& value) {
  const T old = std::exchange(value, T());
}

// The header fields of a request, in the order in which they were sent. The class owns no text:
// names and values point into the text that was parsed. Names are compared without regard to case
// (RFC 9110, section 5.1).
class Headers {
 public:
  struct Field {
    std::string_view name;
    std::string_view value;  // as sent, without surrounding blanks; never contains CR, LF or NUL
  };

  void add(std::string_view name, std::string_view value) { fields_.push_back({name, value}); }
  void clear() { fields_.clear(); }

  // Returns the value of the first field with that name.
  std::optional<std::string_view> find(std::string_view name) const;
  // Returns the value of the first field with that name, or "" if there is none.
  std::string_view get(std::string_view name) const { return find(name).value_or(""); }
  // Returns how many fields have that name. A field that decides who the caller is should occur
  // once.
  std::size_t count(std::string_view name) const;
  // Whether a field with that name contains `text`.
  bool mentions(std::string_view name, std::string_view text) const;

  std::size_t size() const { return fields_.size(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

// Compares field names, authentication schemes or media types, without regard to case.
bool same_name(std::string_view a, std::string_view b);

// Decoded names and values. A name that was sent twice occurs twice, in the order of the values.
using Query = std::multimap<std::string, std::string, std::less<>>;

// How many fields a query or a form may have. No route uses more than ten.
inline constexpr std::size_t max_form_fields = 256;

// Parses a query or a body of the type application/x-www-form-urlencoded, such as `a=1&b=x+y`.
// Returns nothing if it isn't properly encoded or has more than max_form_fields fields; parsing
// stops there. The result may contain any byte, as with percent_decode().
std::optional<Query> parse_form(std::string_view text);

// Whether all names and values are valid UTF-8.
bool is_utf8(const Query& query);

// A body that was written to a file, because it is too large for memory. The file is removed with
// this object, unless it was moved somewhere else.
class BodyFile {
 public:
  // Creates an empty file with a new name in the directory, which only its owner may read. Throws
  // std::runtime_error.
  explicit BodyFile(const std::filesystem::path& directory);
  ~BodyFile();
  BodyFile(const BodyFile&) = delete;
  BodyFile& operator=(const BodyFile&) = delete;

  // Throws std::runtime_error if there is no room.
  void append(std::string_view data);
  const std::filesystem::path& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
};

// Where the body of a request goes whose head was read.
struct Upload {
  enum class Kind {
    to_file,  // into a file of this directory
    // It isn't read, and the handler is called with an empty body: it will refuse the request. The
    // connection is closed after the answer.
    unread
  } kind = Kind::to_file;
  std::filesystem::path directory = {};
  std::size_t max_bytes = 0;
  std::chrono::milliseconds time{0};  // from the head to the last byte
};

// A complete request; its body has been read before the handler is called. Views in it are valid
// until the handler returns, so a stream that goes on afterwards must copy what it needs.
struct Request {
  std::string_view method;  // a token, as sent; methods are case-sensitive
  std::string_view path;    // still percent-encoded, from '/' up to '?'; or "*" (OPTIONS)
  std::string_view raw_query;
  Query query;
  Headers headers;
  std::string_view host;  // from the Host field or the absolute target; may include a port
  // Numeric, without a port; IPv4 addresses in IPv4's notation. On a Unix socket it is unix_peer
  // (socket.h).
  std::string_view remote_address;
  std::string body;                     // as sent, whatever its Content-Type; chunks are joined
  std::shared_ptr<BodyFile> file = {};  // instead of `body`, for requests that are uploads
};

// What a step of a stream says about the next one.
struct Next {
  enum Kind {
    more,  // what was written is sent, and then comes the next step
    news,  // the next step comes when the Waker is woken, or at the time `at`
    end,
    // The connection is closed before the answer's end, so that the caller notices that something
    // is missing.
    break_off,
  };
  Next(Kind said) : kind(said) {}
  static Next on_news(std::chrono::steady_clock::time_point latest) {
    Next next(news);
    next.at = latest;
    return next;
  }
  bool operator==(Kind other) const { return kind == other; }

  Kind kind;
  std::chrono::steady_clock::time_point at{};
};

// What a step of a stream writes to. What was written is sent after the step; if the caller is gone
// by then, there is no other step.
using Sink = std::function<void(std::string_view)>;

// By which whoever has news wakes a stream that waits for them. Thread-safe.
class Waker {
 public:
  // Has the stream's next step called soon. Doesn't wait for it, and may be called with locks held
  // that a step may take, too. Several calls may lead to one step; none is lost.
  void wake() {
    const std::lock_guard lock(mutex_);
    if (target_) target_();
  }
  // For the server: wake() calls `target` from now on; nothing, if it is empty. The former target
  // isn't called any more after this.
  void connect(std::function<void()> target) {
    const std::lock_guard lock(mutex_);
    target_.swap(target);
  }

 private:
  std::mutex mutex_;
  std::function<void()> target_;
};

// The body of an answer that goes on, such as server-sent events or logs. Its step is called again
// and again, on one of a few threads that all streams share and without a handler slot, until it
// returns Next::end, the caller goes away or is too slow, or the server shuts down; then it is
// destroyed, on a thread that may wait for something. A step must not wait: it writes what there is
// and says when it wants to be called again. An exception from it cuts the answer off.
class Stream {
 public:
  using Step = std::function<Next(const Sink&)>;

  Stream() = default;
  // `waker` may be null if the stream only waits for times.
  template <typename F>
  requires std::is_invocable_v<F&, const Sink&> Stream(F step, std::shared_ptr<Waker> waker = {})
      : step_(std::move(step)), waker_(std::move(waker)) {}

  explicit operator bool() const { return static_cast<bool>(step_); }
  Next operator()(const Sink& sink) const { return step_(sink); }
  const std::shared_ptr<Waker>& waker() const { return waker_; }

 private:
  Step step_;
  std::shared_ptr<Waker> waker_;
};

inline constexpr int switching_protocols = 101;
inline constexpr int upgrade_required = 426;

// A connection whose request was answered with 101, so that it speaks another protocol from now on.
struct Upgraded {
  int socket;              // doesn't block; the server closes it after the takeover
  std::string_view input;  // what the client has sent behind its request
  int ending;              // a descriptor for poll(2), readable once the server shuts down
};
// Speaks that protocol. It is called once, on a thread that it has for itself, and may wait; the
// connection is closed when it returns. It has to return soon after `ending` is readable, or the
// other side is gone. It may never be called, because the client is gone; it is destroyed on a
// thread that may wait for something.
using Takeover = std::function<void(const Upgraded&)>;

using Fields = std::vector<std::pair<std::string, std::string>>;

// An answer. Header names must be tokens and values must not contain control characters; an answer
// that breaks this rule is replaced by a 500, so that no input can inject a header or a body. The
// server itself sends Content-Length, Transfer-Encoding, Connection, Keep-Alive, Date and
// Content-Type.
struct Response {
  int status = 200;  // 200 to 599; 101 with a takeover
  std::string content_type = {};
  Fields headers = {};
  std::string body = {};
  Stream stream = {};  // instead of `body`
  // Instead of both, with the status 101: the connection is upgraded to the protocol that the field
  // Upgrade names (RFC 9110, section 7.8). Only requests with HTTP/1.1 can be answered so.
  Takeover takeover = {};
  // Whether the request had a valid token; if so, its network may have more connections
  // (ConnectionTable).
  bool caller_is_known = false;

  void add_header(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
  }
};

}  // namespace berth::api
