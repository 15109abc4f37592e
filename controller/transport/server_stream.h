#pragma once

#include <httplib.h>

#include <chrono>
#include <string>
#include <string_view>

#include "controller/transport/socket.h"

namespace berth::api {

// Whether the answer has a body, as httplib has to know.
enum class AnswerTo { get, head };

// What httplib sees of a connection. httplib 0.11 would decode header values, unpack forms and
// multipart bodies, decompress, apply Range and Accept-Encoding by itself, and accept ambiguous
// framing. Therefore RequestReader reads the request, strictly, and httplib is shown only a request
// line. Its output is collected, so that head and body are sent together. Not thread-safe.
class ServerStream final : public httplib::Stream {
 public:
  // A write to the socket may take at most `write_timeout`.
  ServerStream(int socket, std::chrono::milliseconds write_timeout)
      : socket_(socket), write_timeout_(write_timeout) {}

  // Prepares for the next call of Server::process_request.
  void begin(AnswerTo kind);
  // Adds a field to the answer's head that httplib isn't told of, which saves a map node and a
  // snprintf for each. May be called between begin() and the first write. The caller makes sure
  // that name and value can be sent.
  void add_field(std::string_view name, std::string_view value);
  // Adds complete field lines, each with its line end.
  void add_fields(std::string_view lines) { fields_.append(lines); }
  // Sends what was collected. Returns false if the connection is broken.
  bool flush();
  // Sends what was collected, and from now on every write at once, until the next begin(). Returns
  // false if the connection is broken.
  bool stop_collecting();

  bool is_readable() const override { return true; }
  bool is_writable() const override { return !broken_; }
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  // httplib answers 500 if the descriptor's number is too large for select(). This stream uses
  // poll(), so it doesn't tell the number.
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
