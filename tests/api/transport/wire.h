#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "api/transport/server.h"

namespace berth::api::test {

// Far above what anything takes; a test that reaches it fails.
inline constexpr std::chrono::seconds patience{20};

struct Answer {
  int status = 0;                              // 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  // names in small letters
  std::string body;                            // chunks are put together
};

enum class Expect { body, no_body };

// A client that sends exactly the bytes it is told to.
class Wire {
 public:
  // `from` is the address that it comes from: all of 127.0.0.0/8 is this machine.
  explicit Wire(int port, const char* from = "127.0.0.1");
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // False when the other side is gone.
  bool send(std::string_view text) const;
  Answer read(Expect expect = Expect::body);
  Answer ask(std::string_view text, Expect expect = Expect::body) {
    send(text);
    return read(expect);
  }
  // Waits for the other side to close; false when it sent something else or nothing for long.
  bool is_closed();
  // What came so far contains `text`.
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

// A running server, shut down at the end.
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

// Polls until it holds; false after a long time.
bool eventually(const std::function<bool()>& condition);

// Answers with what arrived: "METHOD path?query body", a header field x-echo as it came.
void echo(const Request& request, Response& response);

inline std::string get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n";
}
inline std::string post(std::string_view path, std::string_view body, std::string_view more = "") {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" + std::string(more) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace berth::api::test
