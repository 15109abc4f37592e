// The documents of clients that aren't registered: when they are fetched, and how many are kept.
#include "controller/domain/oauth/client_documents.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using nlohmann::json;

const std::string editor = "https://editor.example.org/client.json";

std::string describes(const std::string& url) {
  return json{{"client_id", url}, {"redirect_uris", json::array({redirect_uri})}}.dump();
}

struct Fixture {
  Clock clock = Clock::standing_at(*parse_iso8601("2026-01-31T12:00:00Z"));
  std::vector<std::string> asked = {};
  bool is_down = false;
  std::optional<std::string> answer = {};
  oauth::ClientDocuments documents{clock,
                                   [this](const std::string& url) {
                                     asked.push_back(url);
                                     if (is_down) throw std::runtime_error("nobody is there");
                                     return answer.value_or(describes(url));
                                   },
                                   apps::ClientUrls::only_https};

  std::string refused(const std::string& url = editor) {
    return refusal([&] { documents.find(url); });
  }
};

TEST_CASE("a document is fetched once in ten minutes") {
  Fixture f;
  CHECK(f.documents.find(editor).url == editor);
  CHECK(f.documents.find(editor).redirect_uris == std::vector<std::string>{redirect_uri});
  CHECK(f.asked == std::vector<std::string>{editor});
  f.clock.advance(10min);
  f.is_down = true;
  CHECK(f.refused() == "400 invalid_request");  // an old one isn't used
  CHECK(f.asked.size() == 2);
}

TEST_CASE("what can't be had or used is asked for again the next time") {
  Fixture f;
  f.is_down = true;
  CHECK(f.refused() == "400 invalid_request");
  f.is_down = false;
  f.answer = describes("https://evil.example.org/client.json");
  CHECK(f.refused() == "400 invalid_request");
  f.answer = "<html>";
  CHECK(f.refused() == "400 invalid_request");
  f.answer.reset();
  CHECK(f.refused() == "");
  CHECK(f.asked.size() == 4);
}

TEST_CASE("nothing is fetched for a URL that can't be a client_id") {
  Fixture f;
  for (const char* url : {"http://127.0.0.1/c", "https://10.0.0.1/c", "https://editor.example.org"})
    CHECK(f.refused(url) == "400 invalid_request");
  CHECK(f.asked.empty());
}

TEST_CASE("a limited number of documents is kept") {
  Fixture f;
  f.documents.find(editor);
  for (size_t i = 0; i < oauth::ClientDocuments::max_kept; ++i) {
    f.clock.advance(1ms);
    f.documents.find("https://editor.example.org/" + std::to_string(i));
  }
  f.asked.clear();
  f.documents.find("https://editor.example.org/0");
  CHECK(f.asked.empty());
  f.documents.find(editor);  // the oldest one has gone
  CHECK(f.asked == std::vector<std::string>{editor});
}

TEST_CASE("one network doesn't take all places in which requests wait for documents",
          "[pool:client_documents]") {
  Fixture f;
  std::atomic<bool> may_end = false;
  oauth::ClientDocuments documents(
      f.clock,
      [&](const std::string&) -> std::string {
        may_end.wait(false);
        throw std::runtime_error("nobody is there");
      },
      apps::ClientUrls::only_https);
  const auto find = [&](const std::string& address) {
    const ClaimantOfThread claimant({.address = address});
    return refusal([&] { documents.find(editor); });
  };
  const auto used = [] { return figures_of(Pool::client_documents).used; };
  const std::size_t of_crowd = limits_of(oauth::ClientDocuments::max_waiting, false).binds_at;
  {
    std::vector<std::jthread> waiting;
    for (std::size_t i = 0; i < of_crowd; ++i) waiting.emplace_back([&] { find("192.0.2.1"); });
    while (used() < of_crowd) std::this_thread::yield();
    CHECK(find("192.0.2.1") == "503 unavailable");
    waiting.emplace_back([&] { find("198.51.100.1"); });
    while (used() < of_crowd + 1) std::this_thread::yield();
    may_end = true;
    may_end.notify_all();
  }
  CHECK(used() == 0);
}

}  // namespace
