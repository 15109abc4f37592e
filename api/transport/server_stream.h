#pragma once

#include <httplib.h>

#include <chrono>
#include <string>
#include <string_view>

#include "api/transport/socket.h"

namespace berth::api {

// What an answer consists of, as httplib has to know it.
enum class AnswerTo { get, head };

// httplib's view of one connection. RequestReader has read the request by then, and strictly;
// httplib 0.11 would decode header values, unpack forms and multipart bodies, inflate what is
// compressed, apply Range and Accept-Encoding by itself and let ambiguous framing pass. So it is
// shown a request line and nothing else, and what it writes is collected: head and body leave in
// one segment. Not for several threads.
class ServerStream final : public httplib::Stream {
 public:
  // Each write to the socket takes at most `write_timeout`.
  ServerStream(int socket, std::chrono::milliseconds write_timeout)
      : socket_(socket), write_timeout_(write_timeout) {}

  // Prepares for the next Server::process_request.
  void begin(AnswerTo kind);
  // A field of the answer's head, beside those that httplib is told of: each of them would cost it
  // a node of a map and a snprintf. Between begin() and the first write. The caller sees to it that
  // name and value can be sent.
  void add_field(std::string_view name, std::string_view value);
  // Complete lines of that kind, each with its line end.
  void add_fields(std::string_view lines) { fields_.append(lines); }
  // Sends what was collected; false when the connection is broken.
  bool flush();
  // From now on every write is sent at once, until the next begin().
  bool stop_collecting();

  bool is_readable() const override { return true; }
  bool is_writable() const override { return !broken_; }
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  // httplib answers 500 for a number that select() can't take. This stream uses poll(), so the
  // number is none of its business.
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  enum class Mode { collecting, direct };

  int socket_;
  std::chrono::milliseconds write_timeout_;
  std::string_view shown_;
  std::string fields_;
  std::string collected_;
  Mode mode_ = Mode::collecting;
  bool head_written_ = false;
  bool broken_ = false;
};

}  // namespace berth::api
