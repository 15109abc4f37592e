// exec and port-forward against a server that speaks as berthd does; no container is needed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <rapidcheck.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "cli/websocket.h"
#include "controller/base/descriptor.h"
#include "controller/base/websocket_frame.h"
#include "tests/cli/person.h"

using namespace berth::cli;
using berth::Descriptor;
using namespace std::string_literals;
using namespace std::chrono_literals;

namespace {

constexpr const char* some_id = "01936f5e-7c1a-7000-8000-000000000005";

// The server's side of a connection that became a WebSocket.
class Socket {
 public:
  explicit Socket(int socket) : socket_(socket) {}

  void send(unsigned opcode, const std::string& data) const {
    std::string frame(1, char(0x80 | opcode));
    if (data.size() < 126) {
      frame += char(data.size());
    } else {
      frame += char(126);
      frame += char(data.size() >> 8);
      frame += char(data.size() & 0xff);
    }
    frame += data;
    for (size_t sent = 0; sent < frame.size();) {
      const ssize_t now = ::send(socket_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return;
      sent += size_t(now);
    }
  }
  void close(int code, const std::string& reason = "") const {
    send(8, std::string{char(code >> 8), char(code & 0xff)} + reason);
  }
  // The data of the next frame; "gone" if there is none.
  std::string receive() {
    const std::string head = take(2);
    if (head.size() < 2) return "gone";
    size_t size = static_cast<unsigned char>(head[1]) & 0x7f;
    if ((static_cast<unsigned char>(head[1]) & 0x80) == 0) return "unmasked";
    if (size == 126) {
      const std::string length = take(2);
      size = size_t(static_cast<unsigned char>(length[0])) << 8 |
             static_cast<unsigned char>(length[1]);
    }
    const std::string mask = take(4);
    std::string data = take(size);
    for (size_t i = 0; i < data.size(); ++i) data[i] = char(data[i] ^ mask[i % 4]);
    return data;
  }
  // Everything on a channel until the input is closed.
  std::string input() {
    std::string all;
    while (true) {
      const std::string message = receive();
      if (message == "gone" || message == "\xff\0"s) return all;
      if (message[0] == '\0') all += message.substr(1);
    }
  }

 private:
  std::string take(size_t size) {
    std::string data(size, '\0');
    size_t got = 0;
    while (got < size) {
      const ssize_t now = ::recv(socket_, data.data() + got, size - got, 0);
      if (now <= 0) return "";
      got += size_t(now);
    }
    return data;
  }

  const int socket_;
};

// Answers each handshake with 101 and calls `script`, and everything else with 426.
class Server {
 public:
  explicit Server(std::function<void(Socket&)> script, std::string refusal = "")
      : script_(std::move(script)), refusal_(std::move(refusal)) {
    listener_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_.get(), 16) == 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~Server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    for (std::thread& each : threads_) each.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  berth::process::Variables variables() const {
    return {{"HOME", home_.path().string()},
            {"BERTH_URL", "http://127.0.0.1:" + std::to_string(port_)},
            {"BERTH_TOKEN", "at_live_x"}};
  }
  Ran berth(const Words& words, const std::string& input = "") const {
    return Running(words, input, variables()).wait();
  }
  std::string heads() {
    const std::scoped_lock lock(mutex_);
    return heads_;
  }

 private:
  void accept_all() {
    while (true) {
      const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      threads_.emplace_back([this, socket] { serve(Descriptor(socket)); });
    }
  }
  void serve(const Descriptor& socket) {
    std::string head;
    for (char c = 0; !head.ends_with("\r\n\r\n") && ::recv(socket.get(), &c, 1, 0) == 1;) head += c;
    {
      const std::scoped_lock lock(mutex_);
      heads_ += head;
    }
    const std::string mark = "Sec-WebSocket-Key: ";
    const size_t at = head.find(mark);
    if (at == std::string::npos || !refusal_.empty()) {
      const std::string body =
          refusal_.empty() ? R"({"error":{"code":"upgrade_required","message":"a WebSocket"}})"
                           : refusal_;
      const std::string status = refusal_.empty() ? "426 Upgrade Required" : "403 Forbidden";
      write(socket, "HTTP/1.1 " + status +
                        "\r\nContent-Type: application/json\r\nContent-Length: " +
                        std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
      return;
    }
    const std::string key = head.substr(at + mark.size(), head.find("\r\n", at) - at - mark.size());
    write(socket,
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          "Sec-WebSocket-Accept: " +
              berth::websocket_frame::accept_of(key) + "\r\n\r\n");
    Socket upgraded(socket.get());
    script_(upgraded);
    // What the client has sent is read, because a reset would overtake what it still receives.
    ::shutdown(socket.get(), SHUT_WR);
    for (char rest = 0; ::recv(socket.get(), &rest, 1, 0) == 1;) {
    }
  }
  static void write(const Descriptor& socket, const std::string& text) {
    ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }

  const std::function<void(Socket&)> script_;
  const std::string refusal_;
  berth::process::TempDir home_;
  Descriptor listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::string heads_;
  std::list<std::thread> threads_;
  std::thread thread_;
};

std::string failure(const std::string& message, int code) {
  const json cause = {{"reason", "ExitCode"}, {"message", std::to_string(code)}};
  json status = {{"status", "Failure"}, {"message", message}, {"reason", "NonZeroExitCode"}};
  status["details"]["causes"] = json::array({cause});
  return "\x03" + status.dump();
}
std::string exit_status(int code) {
  return failure("command terminated with exit code " + std::to_string(code), code);
}

}  // namespace

TEST_CASE("exec passes input, both outputs and the exit code on") {
  Server server([](Socket& socket) {
    const std::string input = socket.input();
    socket.send(9, "are you there?");
    socket.send(2, "\1you said ");
    for (size_t at = 0; at < input.size(); at += 50'000)
      socket.send(2, "\1" + input.substr(at, 50'000));
    socket.send(2, "\2and an error\n");
    socket.send(2, exit_status(3));
    socket.close(1000);
    while (socket.receive() != "gone") {
    }
  });
  const std::string long_input(100'000, 'x');
  const Ran ran = server.berth(
      {"exec", some_id, "--process", "worker", "--", "sh", "-c", "[ -f a,b ]", "", "--instance"},
      "hello\n" + long_input);
  CHECK(ran.code == 3);
  CHECK(ran.out == "you said hello\n" + long_input);
  CHECK(ran.err == "and an error\n");
  const std::string head = server.heads();
  CHECK(head.find("GET /api/deploy/apps/"s + some_id +
                  "/exec?command=sh&command=-c&command=%5B%20-f%20a%2Cb%20%5D&command=&command=--"
                  "instance&process=worker HTTP/1.1\r\n") == 0);
  CHECK(head.find("Authorization: Bearer at_live_x\r\n") != std::string::npos);
  CHECK(head.find("Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n") != std::string::npos);
}

TEST_CASE("a command that writes without a pause doesn't keep input from it") {
  constexpr size_t most = size_t{100} * 1024 * 1024;
  std::atomic<bool> has_input = false;
  std::atomic<bool> gave_up = false;
  Server server([&](Socket& socket) {
    std::thread output([&] {
      const std::string message = "\1" + std::string(60'000, 'y');
      for (size_t sent = 0; !has_input; sent += message.size()) {
        socket.send(2, message);
        if ((gave_up = sent >= most)) return;
      }
    });
    has_input = socket.receive() == "\0stop"s;
    output.join();
    socket.send(2, exit_status(0));
    socket.close(1000);
  });
  CHECK(server.berth({"exec", some_id, "--", "yes"}, "stop").code == 0);
  CHECK(has_input);
  CHECK_FALSE(gave_up);
}

TEST_CASE("exec says why a command couldn't run or was cut off") {
  const auto run = [](std::function<void(Socket&)> script) {
    Server server(std::move(script));
    return server.berth({"exec", some_id, "--", "ls"});
  };
  const Ran fine = run([](Socket& socket) {
    socket.send(2, "\3{\"status\":\"Success\"}");
    socket.close(1000);
  });
  CHECK(fine.code == 0);
  CHECK(fine.err.empty());
  const Ran missing = run([](Socket& socket) {
    socket.send(2, failure("the image has no program ls", 127));
    socket.close(1000);
  });
  CHECK(missing.code == 127);
  CHECK(missing.err.find("the image has no program ls") != std::string::npos);
  const Ran revoked = run([](Socket& socket) { socket.close(1008, "the token was revoked"); });
  CHECK(revoked.code == 4);
  CHECK(revoked.err.find("the token was revoked") != std::string::npos);
  const Ran shutdown = run([](Socket& socket) { socket.close(1001, "berthd is shutting down"); });
  CHECK(shutdown.code == 8);
  const Ran lost = run([](Socket& socket) { socket.send(2, "\1half"); });
  CHECK(lost.code == 8);
  CHECK(lost.out == "half");
  const Ran broken = run([](Socket& socket) { socket.send(3, "reserved"); });
  CHECK(broken.code == 8);
}

TEST_CASE("a refusal of a session is explained as those of other requests") {
  Server server([](Socket&) {},
                R"({"error":{"code":"exec_not_allowed","message":"the tier allows none"}})");
  for (const Words& words :
       {Words{"exec", some_id, "--", "ls"}, Words{"port-forward", some_id, "0:80"}}) {
    const Ran ran = server.berth(words);
    CHECK(ran.code == 4);
    CHECK(ran.err.find("the tier allows none") != std::string::npos);
  }
  Server narrow([](Socket&) {},
                R"({"error":{"code":"insufficient_scope","message":"the token lacks it"}})");
  CHECK(narrow.berth({"exec", some_id, "--", "ls"}).err.find("berth scopes request deploy:exec") !=
        std::string::npos);
  const Ran without = server.berth({"exec", some_id, "ls"});
  CHECK(without.code == 2);
  CHECK(without.err.find("behind --") != std::string::npos);
  for (const char* ports : {"x", "0", "1:2:3", "65536", "1:", ":1"})
    CHECK(server.berth({"port-forward", some_id, ports}).code == 2);
}

TEST_CASE("port-forward passes connections of this machine on, several at a time") {
  std::atomic<int> half_closed = 0;
  Server server([&](Socket& socket) {
    while (true) {
      const std::string data = socket.receive();
      if (data == "gone") return;
      if (data.empty()) {
        ++half_closed;
        socket.send(2, "bye");
        socket.close(1000);
        socket.receive();
        return;
      }
      socket.send(2, "echo " + data);
    }
  });
  Running berth({"port-forward", some_id, "0:8080"}, "", server.variables());
  const std::string mark = "127.0.0.1:";
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (berth.out().find('\n') == std::string::npos && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(10ms);
  REQUIRE(berth.out().find(mark) != std::string::npos);
  const int port = std::stoi(berth.out().substr(berth.out().find(mark) + mark.size()));

  const auto connect = [&] {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(std::uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    return socket;
  };
  const auto receive = [](const Descriptor& socket, size_t size) {
    std::string data(size, '\0');
    return ::recv(socket.get(), data.data(), size, MSG_WAITALL) == ssize_t(size) ? data : "nothing";
  };
  const Descriptor one = connect();
  const Descriptor another = connect();
  ::send(another.get(), "b", 1, MSG_NOSIGNAL);
  CHECK(receive(another, 6) == "echo b");
  ::send(one.get(), "a", 1, MSG_NOSIGNAL);
  CHECK(receive(one, 6) == "echo a");
  ::shutdown(one.get(), SHUT_WR);
  CHECK(receive(one, 3) == "bye");
  CHECK(half_closed == 1);
  char end = 0;
  CHECK(::recv(one.get(), &end, 1, 0) == 0);
  CHECK(server.heads().find("/port-forward?port=8080 HTTP/1.1") != std::string::npos);
  berth.interrupt();
  berth.wait();
}

TEST_CASE("at a terminal, exec asks for one and says its size; -T asks for none") {
  Server server([](Socket& socket) {
    std::string message;
    while (message != "gone" && !message.starts_with('\4')) message = socket.receive();
    socket.send(2, "\1seen " + message.substr(1) + "\r\n");
    socket.send(2, "\3{\"status\":\"Success\"}");
    socket.close(1000);
    socket.receive();
  });
  berth::process::Variables variables = server.variables();
  variables.emplace_back("TERM", "xterm");
  const std::string command = std::string("'") + berth::test::berth_program + "' exec " + some_id;
  const Ran ran =
      Running({"-qec", command + " -- sh", "/dev/null"}, "", variables, "/usr/bin/script").wait();
  CHECK(ran.code == 0);
  CHECK(ran.out.find(R"(seen {"Height":24,"Width":80})") != std::string::npos);
  CHECK(server.heads().find("?command=sh&tty=true HTTP/1.1") != std::string::npos);

  Server plain([](Socket& socket) {
    socket.send(2, "\1done");
    socket.send(2, "\3{\"status\":\"Success\"}");
    socket.close(1000);
    socket.receive();
  });
  variables = plain.variables();
  const Ran without =
      Running({"-qec", command + " -T -- sh", "/dev/null"}, "", variables, "/usr/bin/script")
          .wait();
  CHECK(without.out.find("done") != std::string::npos);
  CHECK(plain.heads().find("?command=sh HTTP/1.1") != std::string::npos);
}

TEST_CASE("frames of a server mean the same in whatever pieces they come") {
  using namespace berth::cli::websocket;
  rc::check([] {
    const auto texts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
    std::string bytes;
    for (const std::string& text : texts) {
      const size_t half = text.size() / 2;
      bytes += "\x02"s + char(half) + text.substr(0, half) + "\x89\x01p"s + "\x80"s +
               char(text.size() - half) + text.substr(half);
    }
    const auto step = *rc::gen::inRange<size_t>(1, 20);
    Reader reader;
    std::vector<std::string> read;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.feed(std::string_view(bytes).substr(at, step));
      while (auto message = reader.next())
        if (message->kind == Kind::binary) read.push_back(message->data);
    }
    RC_ASSERT(read == texts);
  });
  CHECK(berth::websocket_frame::accept_of("dGhlIHNhbXBsZSBub25jZQ==") ==
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  CHECK(encode(Kind::binary, "hi", "abcd") ==
        "\x82\x82"s + "abcd" + char('h' ^ 'a') + char('i' ^ 'b'));
  for (const std::string& wrong : {"\xc2\x01x"s, "\x82\x81"s + "abcdx", "\x80\x01x"s, "\x83\x01x"s,
                                   "\x09\x01x"s, "\x82\x7f\x7f\0\0\0\0\0\0\0"s}) {
    Reader reader;
    reader.feed(wrong);
    CHECK_THROWS_AS(reader.next(), NoAnswer);
  }
}
