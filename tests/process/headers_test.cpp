// The header fields of every answer, whichever part made it.
#include <catch2/catch.hpp>

#include "tests/process/client.h"
#include "tests/process/raw.h"

using namespace berth::process;

namespace {

// One request for each part that answers: handlers, errors, hosted pages, their stylesheet, the
// transport, and the pages of the simulated cluster.
const std::vector<std::string> questions = {
    "GET /health HTTP/1.1\r\nHost: localhost\r\n",
    "GET /.well-known/openapi.json HTTP/1.1\r\nHost: localhost\r\n",
    "GET /api/auth/me HTTP/1.1\r\nHost: localhost\r\n",
    "GET /api/nowhere HTTP/1.1\r\nHost: localhost\r\n",
    "OPTIONS /api/deploy/apps HTTP/1.1\r\nHost: localhost\r\n",
    "GET /api/internal/scope-requests HTTP/1.1\r\nHost: localhost\r\n",
    "GET /login HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n",
    "GET /account HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n",
    "GET /assets/pages.css HTTP/1.1\r\nHost: localhost\r\n",
    "GET /robots.txt HTTP/1.1\r\nHost: localhost\r\n",
    "GET / HTTP/1.1\r\nHost: shop.apps.localhost\r\n",
    "GET nonsense HTTP/1.1\r\nHost: localhost\r\n"};

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

std::string head_of(const Berthd& berthd, const std::string& question) {
  const Raw connection(berthd.port());
  connection.send(question + "Connection: close\r\n\r\n");
  const std::string answer = connection.receive_all();
  return answer.substr(0, answer.find("\r\n\r\n"));
}

}  // namespace

TEST_CASE("browsers don't guess types of answers, and each header field occurs once") {
  const Berthd berthd;
  for (const std::string& question : questions) {
    const std::string head = head_of(berthd, question);
    INFO(question << head);
    CHECK(count(head, "X-Content-Type-Options: nosniff") == 1);
    CHECK(count(head, "Strict-Transport-Security") == 0);
    CHECK(count(head, "Cache-Control") <= 1);
  }
}

TEST_CASE("programs that index the web are kept from what belongs to persons") {
  const Berthd berthd;
  const Raw connection(berthd.port());
  connection.send("GET /robots.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answer = connection.receive_all();
  CHECK(count(answer, "\r\nContent-Type: text/plain; charset=utf-8\r\n") == 1);
  for (const char* path : {"/account", "/api/"})
    CHECK(count(answer, "\nDisallow: " + std::string(path) + "\n") == 1);
  CHECK(count(answer, "Disallow: /\n") == 0);
  // The console is an empty page until its script has asked the API, and so it may be found.
  CHECK(count(answer, "/console") == 0);
}

TEST_CASE("with an https base URL, every answer has Strict-Transport-Security") {
  const Berthd berthd({"--base-url", "https://berth.example"});
  for (const std::string& question : questions) {
    const std::string head = head_of(berthd, question);
    INFO(question << head);
    CHECK(count(head + "\r\n", "\r\nStrict-Transport-Security: max-age=31536000\r\n") == 1);
  }
}

TEST_CASE("a refused connection gets the same header fields") {
  const Berthd berthd({"--max-connections-per-network", "1"});
  const Raw first(berthd.port());
  first.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  REQUIRE(first.receive().starts_with("HTTP/1.1 200"));
  const std::string refused = Raw(berthd.port()).receive_all();
  CHECK(refused.starts_with("HTTP/1.1 503"));
  CHECK(count(refused, "X-Content-Type-Options: nosniff") == 1);
}
