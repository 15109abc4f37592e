#include "controller/base/document_fetch.h"

#include <httplib.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "controller/base/public_address.h"
#include "tests/listening.h"

namespace {

using namespace berth;
using namespace std::chrono_literals;

struct Server {
  httplib::Server http;
  std::optional<test::Listening> listening;
  Server() {
    http.Get("/good", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("{}", "application/json");
    });
    http.Get("/moved", [](const httplib::Request&, httplib::Response& response) {
      response.set_redirect("/good");
    });
    http.Get("/large", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(std::string(DocumentFetch::max_bytes + 1, 'x'), "application/json");
    });
    http.Get("/slow",
             [](const httplib::Request&, httplib::Response&) { std::this_thread::sleep_for(1s); });
    listening.emplace(http);
  }
  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(listening->port()) + path;
  }
};

std::string failure(const DocumentFetch& fetch, const std::string& url) {
  try {
    fetch.get(url);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST_CASE("a document is fetched from an allowed address, within its limits, and nothing else") {
  const Server server;
  const DocumentFetch anywhere([](const sockaddr&) { return true; }, 300ms);
  CHECK(anywhere.get(server.url("/good")) == "{}");
  CHECK(failure(anywhere, server.url("/moved")) ==
        "it answered with a redirect, which isn't followed");
  CHECK(failure(anywhere, server.url("/none")) == "it answered with 404");
  CHECK(failure(anywhere, server.url("/large")) == "its answer is too large");
  const auto begun = std::chrono::steady_clock::now();
  CHECK_FALSE(failure(anywhere, server.url("/slow")).empty());
  CHECK(std::chrono::steady_clock::now() - begun < 900ms);
  CHECK_FALSE(failure(anywhere, "file:///etc/hostname").empty());
  const DocumentFetch outside([](const sockaddr& address) { return is_public_address(address); });
  CHECK(failure(outside, server.url("/good")) == "its host has no public address");
}

}  // namespace
