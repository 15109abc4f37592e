#include "reconcilers/embedded/node/unix_http.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "controller/base/descriptor.h"
#include "tests/temp_dir.h"

using namespace berth;
using namespace berth::embedded;
using namespace std::chrono_literals;

namespace {

// Accepts one connection after the other on a unix socket, reads a request to its end, and answers
// with what `answer` returns for it. Without an answer the connection stays open.
class Server {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  Server(const std::string& path, Answer answer)
      : answer_(std::move(answer)), listening_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    REQUIRE(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listening_.get(), 16) == 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(listening_.get(), SHUT_RDWR);
    thread_.join();
  }

 private:
  void serve() {
    std::vector<Descriptor> kept;
    for (;;) {
      Descriptor connection(::accept(listening_.get(), nullptr, nullptr));
      if (!connection.valid()) return;
      const std::string answer = answer_(read(connection.get()));
      std::size_t sent = 0;
      while (sent < answer.size()) {
        const ssize_t some =
            ::send(connection.get(), answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (some <= 0) break;
        sent += size_t(some);
      }
      if (answer.empty()) kept.push_back(std::move(connection));
    }
  }

  static std::string read(int connection) {
    std::string request;
    char part[4096];
    for (;;) {
      const size_t head = request.find("\r\n\r\n");
      if (head != std::string::npos) {
        const size_t at = request.find("Content-Length: ");
        const size_t length = at == std::string::npos ? 0 : std::stoul(request.substr(at + 16));
        const bool chunked = request.find("chunked") != std::string::npos;
        if (chunked ? request.ends_with("0\r\n\r\n") : request.size() >= head + 4 + length)
          return request;
      }
      const ssize_t some = ::recv(connection, part, sizeof part, 0);
      if (some <= 0) return request;
      request.append(part, size_t(some));
    }
  }

  Answer answer_;
  Descriptor listening_;
  std::thread thread_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

UnixHttpError::Kind failure(const UnixHttp& http, const UnixCall& call) {
  try {
    http.call(call);
  } catch (const UnixHttpError& error) {
    return error.kind();
  }
  FAIL("the call didn't fail");
  return {};
}

}  // namespace

TEST_CASE("a call over a unix socket has its target, its fields and its body as they were given",
          "[unix_http]") {
  const test::TempDir dir;
  const std::string path = dir / "socket";
  std::string seen;
  const Server server(path, [&](const std::string& request) {
    seen = request;
    return "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone";
  });
  const UnixHttp http(path, "podman");
  UnixCall call;
  call.method = "POST";
  call.target = "/v4.0.0/x?filters=%7B%22a%22%3A%5B%22b%22%5D%7D";
  call.headers["X-Registry-Auth"] = "abc";
  call.body = "{}";
  const UnixAnswer answer = http.call(call);
  CHECK(answer.status == 404);
  CHECK(answer.body == "none");
  CHECK(seen.starts_with("POST /v4.0.0/x?filters=%7B%22a%22%3A%5B%22b%22%5D%7D HTTP/1.1\r\n"));
  CHECK(seen.find("Host: podman\r\n") != std::string::npos);
  CHECK(seen.find("X-Registry-Auth: abc\r\n") != std::string::npos);
  CHECK(seen.find("Content-Type: application/json\r\n") != std::string::npos);
  CHECK(seen.ends_with("\r\n\r\n{}"));
}

TEST_CASE("a body that a source gives is sent in parts", "[unix_http]") {
  const test::TempDir dir;
  const std::string path = dir / "socket";
  std::string seen;
  const Server server(path, [&](const std::string& request) {
    seen = request;
    return ok("done");
  });
  const UnixHttp http(path);
  UnixCall call;
  call.method = "POST";
  call.target = "/build";
  call.content_type = "application/x-tar";
  int part = 0;
  call.source = [&] { return ++part <= 3 ? std::string(1000, char('a' + part)) : std::string(); };
  CHECK(http.call(call).body == "done");
  CHECK(std::count(seen.begin(), seen.end(), 'd') >= 1000);
  CHECK(seen.find("Content-Type: application/x-tar\r\n") != std::string::npos);
  part = 0;
  call.source = []() -> std::string { throw std::runtime_error("the file can't be read"); };
  CHECK(failure(http, call) == UnixHttpError::Kind::cancelled);
}

TEST_CASE("an answer is collected up to its bound, or handed over as it arrives", "[unix_http]") {
  const test::TempDir dir;
  const std::string path = dir / "socket";
  const Server server(path, [](const std::string& request) {
    if (request.starts_with("GET /stream"))
      return std::string(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
    return ok(std::string(5000, 'x'));
  });
  const UnixHttp http(path);
  CHECK(http.call({.target = "/"}).body.size() == 5000);
  CHECK(failure(http, {.target = "/", .most_bytes = 4999}) == UnixHttpError::Kind::too_large);
  std::string received;
  UnixCall call{.target = "/stream"};
  call.receive = [&](std::string_view part) {
    received += part;
    return true;
  };
  CHECK(http.call(call).body.empty());
  CHECK(received == "onetwo");
  call.receive = [](std::string_view) { return false; };
  CHECK(failure(http, call) == UnixHttpError::Kind::cancelled);
}

TEST_CASE("a service that is silent, breaks off or isn't there", "[unix_http]") {
  const test::TempDir dir;
  const std::string path = dir / "socket";
  CHECK(failure(UnixHttp(path), {.target = "/"}) == UnixHttpError::Kind::unreachable);
  CHECK_THROWS_AS(UnixHttp("/" + std::string(UnixHttp::longest_path, 'x')), std::invalid_argument);
  const Server server(path, [](const std::string& request) {
    if (request.starts_with("GET /cut"))
      return std::string("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    return std::string();
  });
  const UnixHttp http(path);
  CHECK(failure(http, {.target = "/cut"}) == UnixHttpError::Kind::unreachable);
  CHECK(failure(http, {.target = "/", .silence = 50ms}) == UnixHttpError::Kind::timed_out);
  UnixCancel cancel;
  std::thread other;
  UnixCall call{.target = "/", .cancel = &cancel};
  std::atomic<bool> ended = false;
  std::thread caller([&] {
    CHECK(failure(http, call) == UnixHttpError::Kind::cancelled);
    ended = true;
  });
  // Whether it comes before or after the connection was made, the call ends.
  cancel.cancel();
  caller.join();
  CHECK(ended);
  CHECK(failure(http, call) == UnixHttpError::Kind::cancelled);
}

TEST_CASE("many threads call at the same time", "[unix_http]") {
  const test::TempDir dir;
  const std::string path = dir / "socket";
  const Server server(path, [](const std::string& request) {
    return ok(request.substr(4, request.find(' ', 4) - 4));
  });
  const UnixHttp http(path);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string target = "/" + std::to_string(thread * 1000 + i);
        right += http.call({.target = target}).body == target;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 400);
}
