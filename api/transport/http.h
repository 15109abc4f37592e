#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::api {

// The fields of a request, in the order in which they came. It owns nothing: names and values point
// into the text that was parsed. Names compare without case (RFC 9110, 5.1).
class Headers {
 public:
  struct Field {
    std::string_view name;
    std::string_view value;  // as sent, without the blanks around it; never CR, LF or NUL
  };

  void add(std::string_view name, std::string_view value) { fields_.push_back({name, value}); }
  void clear() { fields_.clear(); }

  // The value of the first field of that name.
  std::optional<std::string_view> find(std::string_view name) const;
  // The same, and "" where there is none.
  std::string_view get(std::string_view name) const { return find(name).value_or(""); }
  // How often it was sent: a field that decides who the caller is should be there once.
  std::size_t count(std::string_view name) const;
  // Whether one of the fields of that name has `text` in it.
  bool mentions(std::string_view name, std::string_view text) const;

  std::size_t size() const { return fields_.size(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

// Names of fields, schemes of credentials and media types compare like this, without case.
bool same_name(std::string_view a, std::string_view b);

// Decoded names and values. A name that was sent twice is in it twice, in its order.
using Query = std::multimap<std::string, std::string, std::less<>>;

// What a '+' stands for: a blank in a query and in a form, itself in a path.
enum class Plus { is_blank, is_plus };

// Undoes percent-encoding (RFC 3986, 2.1). Nothing when a '%' isn't followed by two hexadecimal
// digits. The outcome may hold any byte, NUL and invalid UTF-8 too.
std::optional<std::string> percent_decode(std::string_view text, Plus plus);

// How many fields a query or a form may have; no route takes more than ten.
inline constexpr std::size_t max_form_fields = 256;

// Reads a query or a body of application/x-www-form-urlencoded: `a=1&b=x+y`. Nothing when it isn't
// properly encoded or has more than max_form_fields fields; reading ends where that is seen. The
// outcome may hold any byte, as percent_decode() says.
std::optional<Query> parse_form(std::string_view text);

// Whether names and values are UTF-8.
bool is_utf8(const Query& query);

// A complete request: the body was read before the handler runs. Every view in it is valid as long
// as the handler runs; a stream that goes on afterwards copies what it needs.
struct Request {
  std::string_view method;  // a token, as sent: methods are case-sensitive
  std::string_view path;    // still percent-encoded, from '/' to before '?'; or "*" (OPTIONS)
  std::string_view raw_query;
  Query query;
  Headers headers;
  std::string_view host;            // of the Host field or the absolute target; may have a port
  std::string_view remote_address;  // numeric, without port; an IPv4 one in IPv4's form
  std::string body;                 // raw, whatever its Content-Type; chunks are put together
};

enum class Next {
  more,
  end,
  break_off,  // the connection ends without the answer's end, so that the caller misses something
};

// Where a stream writes. Each call sends at once and blocks until the kernel took the data, at most
// for the write timeout; false: the caller is gone or too slow, end the stream.
using Sink = std::function<bool(std::string_view)>;

// The body of an answer that goes on for long: server-sent events, logs. It is called again and
// again on the connection's thread, without a handler slot, until it returns Next::end, the caller
// goes away or the server shuts down; then it is destroyed. One call may wait for news, but for no
// longer than `stream_step`, so that the other two are noticed. What it throws cuts the answer off.
using Stream = std::function<Next(const Sink&)>;
inline constexpr std::chrono::milliseconds stream_step{1000};

using Fields = std::vector<std::pair<std::string, std::string>>;

// An answer. Its header names must be tokens and its values free of control characters: an answer
// that breaks this is replaced by a 500, so that nobody's input can start a header or a body of its
// own. Content-Length, Transfer-Encoding, Connection, Keep-Alive, Date and Content-Type are the
// server's to send.
struct Response {
  int status = 200;  // 200 to 599
  std::string content_type = {};
  Fields headers = {};
  std::string body = {};
  Stream stream = {};  // instead of `body`
  // The request had a valid token: its network may have more connections (ConnectionTable).
  bool caller_is_known = false;

  void add_header(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
  }
};

}  // namespace berth::api
