#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "controller/transport/server.h"

namespace berth::api::test {

// Far longer than anything takes. A test that waits this long fails.
inline constexpr std::chrono::seconds patience{20};

struct Answer {
  int status = 0;                              // 0 if the connection ended without an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks are joined
};

enum class Expect { body, no_body };

// A client that sends exactly the bytes that a test gives it.
class Wire {
 public:
  // `from` is the address that the connection comes from; all of 127.0.0.0/8 belongs to this
  // machine.
  explicit Wire(int port, const char* from = "127.0.0.1");
  explicit Wire(const std::string& path);  // to a Unix socket
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Returns false if the other side is gone.
  bool send(std::string_view text) const;
  Answer read(Expect expect = Expect::body);
  Answer ask(std::string_view text, Expect expect = Expect::body) {
    send(text);
    return read(expect);
  }
  // Waits for the other side to close the connection. Returns false if it sent something else, or
  // nothing for long.
  bool is_closed();
  // Waits until what was received contains `text`.
  bool wait_for(std::string_view text);
  void stop_sending() const;

 private:
  bool receive();
  std::string read_body(const Answer& answer);
  std::string read_chunks();
  bool has(std::size_t bytes);

  int socket_;
  std::string input_;
};

// A running server, which is shut down when this object is destroyed.
class Running {
 public:
  Running(ServerOptions options, Handler handler)
      : server(with_renderer(std::move(options)), std::move(handler)),
        port(server.bind()),
        thread_([this] { server.run(); }) {}
  ~Running() { stop(std::chrono::seconds(0)); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Drained stop(std::chrono::seconds grace) {
    const Drained drained = server.shutdown(grace);
    if (thread_.joinable()) thread_.join();
    return drained;
  }

  Server server;
  int port;

 private:
  static ServerOptions with_renderer(ServerOptions options);

  std::thread thread_;
};

// Repeats the check until it is true. Returns false after a long time.
bool eventually(const std::function<bool()>& condition);

// Answers with what arrived: the body is "METHOD path?query body", and the header field x-echo is
// copied.
void echo(const Request& request, Response& response);

inline std::string get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n";
}
inline std::string post(std::string_view path, std::string_view body, std::string_view more = "") {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" + std::string(more) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace berth::api::test
