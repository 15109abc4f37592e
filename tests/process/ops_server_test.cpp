// metrics-listen: what it answers, and what others in the network can do to it.
#include <catch2/catch.hpp>

#include "tests/process/client.h"
#include "tests/process/raw.h"

using namespace berth::process;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string ask(const Berthd& berthd, const std::string& line, const char* from = "127.0.0.1") {
  const Raw connection(berthd.metrics_port(), from);
  connection.send(line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return connection.receive_all();
}

// Asks as a kubelet does: a probe that is refused, because the connections that it displaces
// haven't left yet, is repeated.
std::string probe(const Berthd& berthd, const char* from) {
  std::string answer;
  eventually([&] {
    answer = ask(berthd, "GET /livez", from);
    return answer.starts_with("HTTP/1.1 200");
  });
  return answer;
}

// Sends the piece repeatedly until the other side stops reading. Returns the number of bytes.
size_t endless(const Berthd& berthd, const std::string& begin, const std::string& piece) {
  constexpr size_t far_too_much = 256 * 1024 * 1024;
  const Raw connection(berthd.metrics_port());
  connection.send(begin);
  size_t sent = 0;
  while (sent < far_too_much && connection.send(piece)) sent += piece.size();
  return sent;
}

}  // namespace

TEST_CASE("metrics-listen serves three paths, by GET and HEAD") {
  const Berthd berthd;
  CHECK_THAT(ask(berthd, "GET /livez"), StartsWith("HTTP/1.1 200") && Contains("\r\n\r\nok\n"));
  CHECK_THAT(ask(berthd, "GET /readyz"), StartsWith("HTTP/1.1 200") && Contains("[+]database ok"));
  const std::string metrics = ask(berthd, "GET /metrics");
  CHECK_THAT(metrics, StartsWith("HTTP/1.1 200") && Contains("berth_database_commits_total"));
  CHECK_THAT(metrics, Contains("Content-Type: text/plain; version=0.0.4"));
  CHECK_THAT(metrics, Contains("X-Content-Type-Options: nosniff"));
  for (const char* path : {"/livez", "/readyz", "/metrics"}) {
    const std::string head = ask(berthd, std::string("HEAD ") + path);
    CHECK_THAT(head, StartsWith("HTTP/1.1 200"));
    CHECK(head.ends_with("\r\n\r\n"));
    CHECK_THAT(ask(berthd, std::string("POST ") + path),
               StartsWith("HTTP/1.1 405") && Contains("Allow: GET, HEAD"));
  }
  CHECK_THAT(ask(berthd, "GET /"), StartsWith("HTTP/1.1 404"));
  CHECK_THAT(ask(berthd, "GET /metrics/more"), StartsWith("HTTP/1.1 404"));
}

TEST_CASE("a metrics port that another berthd uses is refused") {
  const Berthd berthd;
  const std::string taken = "127.0.0.1:" + std::to_string(berthd.metrics_port());
  const Ended second = run_to_end({"--metrics-listen", taken});
  constexpr int refused_address = 4;
  CHECK(second.code == refused_address);
  CHECK_THAT(second.output, Contains("metrics-listen") && Contains(taken));
}

TEST_CASE("endless requests to metrics-listen are cut off") {
  const Berthd berthd;
  // What the sockets' buffers hold, plus what is read and discarded so that the answer arrives.
  constexpr size_t enough = 32 * 1024 * 1024;
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  CHECK(endless(berthd, "POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
                chunk) < enough);
  CHECK(endless(berthd, "GET /metrics HTTP/1.1\r\nHost: x\r\n",
                "X: " + std::string(8'000, 'x') + "\r\n") < enough);
  CHECK(endless(berthd, "GET /metrics HTTP/1.1\r\nX: ", std::string(0x10000, 'x')) < enough);
  CHECK(endless(berthd, "GET /" + std::string(100, 'x'), std::string(0x10000, 'x')) < enough);
  CHECK_THAT(ask(berthd, "GET /livez"), StartsWith("HTTP/1.1 200"));
}

TEST_CASE("a flood of connections doesn't keep a probe out") {
  const Berthd berthd;
  for (const char* begin : {"", "GET /livez HTTP/1.1\r\nX: ",
                            "POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"}) {
    INFO(begin);
    std::vector<std::unique_ptr<Raw>> flood;
    for (int i = 0; i < 200; ++i) {
      flood.push_back(std::make_unique<Raw>(berthd.metrics_port()));
      flood.back()->send(begin);
    }
    for (int i = 0; i < 5; ++i) {
      CHECK_THAT(probe(berthd, "127.0.0.1"), StartsWith("HTTP/1.1 200"));
      CHECK_THAT(probe(berthd, "127.0.0.2"), StartsWith("HTTP/1.1 200"));
    }
  }
}
