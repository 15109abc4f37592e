// How the client handles servers and proxies that aren't berthd or don't work.
#include <httplib.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <optional>
#include <thread>

#include "cli/wait.h"
#include "controller/domain/deployments/deployments.h"
#include "tests/cli/person.h"
#include "tests/listening.h"

using namespace berth::cli;
using berth::process::Variables;

namespace {

constexpr const char* some_id = "01936f5e-7c1a-7000-8000-000000000005";

// A server that gives the same answer to everything.
class Odd {
 public:
  explicit Odd(httplib::Server::Handler answer) {
    http_.Get(".*", std::move(answer));
    listening_.emplace(http_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(listening_->port()); }
  Ran berth(const Words& words, Variables variables = {}) const {
    variables.insert(
        variables.end(),
        {{"HOME", home_.path().string()}, {"BERTH_URL", url()}, {"BERTH_TOKEN", "at_live_x"}});
    return Running(words, "", variables).wait();
  }

 private:
  berth::process::TempDir home_;
  httplib::Server http_;
  std::optional<berth::test::Listening> listening_;
};

httplib::Server::Handler body(const std::string& text) {
  return [text](const httplib::Request&, httplib::Response& response) {
    response.set_content(text, "application/json");
  };
}

}  // namespace

TEST_CASE("an answer that isn't berth's isn't taken for an empty list") {
  for (const char* text : {"", "{}", "null", "[]", "<html>", R"({"deployments":null})"}) {
    CAPTURE(text);
    const Ran ran = Odd(body(text)).berth({"deploy", "list"});
    CHECK(ran.code == 1);
    CHECK(ran.out.empty());
    CHECK_FALSE(ran.err.empty());
  }
}

TEST_CASE("a redirect to another address is reported and not followed") {
  const Odd odd([](const httplib::Request&, httplib::Response& response) {
    response.set_redirect("https://berth.example.org/x", 301);
  });
  const Ran ran = odd.berth({"deploy", "list"});
  CHECK(ran.code == 1);
  CHECK(ran.err.find("https://berth.example.org/x") != std::string::npos);
}

TEST_CASE("a tier's own domain says if the platform has none") {
  const std::string tiers = R"("tiers":[{"slug":"free","custom_domain_allowed":false},)"
                            R"({"slug":"basic","custom_domain_allowed":true}],"total":2})";
  const Odd without(body(R"({"custom_domains":false,)" + tiers));
  const std::string table = without.berth({"tiers"}).out;
  CHECK(table.find("not here") != std::string::npos);
  CHECK(table.find("yes") == std::string::npos);
  // Programs get what the server has said.
  CHECK(
      without.berth({"tiers", "-o", "json"}).body().at("tiers").at(1).at("custom_domain_allowed") ==
      true);
  for (const char* said : {R"({"custom_domains":true,)", "{"})
    CHECK(Odd(body(said + tiers)).berth({"tiers"}).out.find("yes") != std::string::npos);
}

TEST_CASE("requests to this machine use no proxy") {
  std::atomic<int> seen = 0;
  const Odd proxy([&](const httplib::Request&, httplib::Response&) { ++seen; });
  const Odd odd(body(R"({"deployments":[],"total":0})"));
  for (const char* name : {"http_proxy", "all_proxy", "ALL_PROXY"})
    CHECK(odd.berth({"deploy", "list"}, {{name, proxy.url()}}).code == 0);
  CHECK(seen == 0);
}

TEST_CASE("names are looked up once, however many there are") {
  std::atomic<int> lists = 0;
  const Odd odd([&](const httplib::Request& request, httplib::Response& response) {
    if (request.path != "/api/deploy/apps") {
      response.set_content("id: 2026-01-31T12:00:00Z/p@1\ndata: hello\n\n", "text/event-stream");
      return;
    }
    ++lists;
    response.set_content(
        R"({"deployments":[{"id":"a","subdomain":"one"},{"id":"b","subdomain":"two"},
                             {"id":"c","subdomain":"three"}],"total":3,"next_cursor":null})",
        "application/json");
  });
  const Ran ran = odd.berth({"logs", "one", "two", "three", "-t"});
  CHECK(ran.code == 0);
  CHECK(ran.out.find("three | 2026-01-31T12:00:00Z hello\n") != std::string::npos);
  CHECK(lists == 1);
  CHECK(odd.berth({"logs", "one", "four"}).code == 5);
  CHECK(lists == 2);
}

TEST_CASE("logs that break off in the middle are a failure") {
  const Odd odd([](const httplib::Request&, httplib::Response& response) {
    response.set_content_provider(100, "text/plain",
                                  [](size_t, size_t, const httplib::DataSink& sink) {
                                    sink.write("one line\n", 9);
                                    return false;
                                  });
  });
  const Ran ran = odd.berth({"deploy", "logs", some_id});
  CHECK(ran.code == 8);
  CHECK(ran.out == "one line\n");
}

TEST_CASE("logs that can't be read are a failure, with the name of who failed") {
  const std::string who = "the kubelet of the node n1 doesn't give the log to the API server (502)";
  const Odd odd([&](const httplib::Request&, httplib::Response& response) {
    response.status = 503;
    response.set_content(R"({"error":{"code":"unavailable","message":")" + who + R"("}})",
                         "application/json");
  });
  const Ran ran = odd.berth({"deploy", "logs", some_id});
  CHECK(ran.code == 8);
  CHECK(ran.out.empty());
  CHECK(ran.err.find(who) != std::string::npos);
}

TEST_CASE("while logs are followed, a problem is told beside them") {
  std::atomic<int> asked = 0;
  const Odd odd([&](const httplib::Request&, httplib::Response& response) {
    response.set_content(
        "event: problem\ndata: {\"message\":\"the kubelet is away\"}\n\n"
        "id: 1\ndata: one line\n\n",
        "text/event-stream");
    if (++asked > 1) response.status = 204;
  });
  const Ran ran = odd.berth({"deploy", "logs", some_id, "--follow"});
  CHECK(ran.code == 0);
  CHECK(ran.out == "one line\n");
  CHECK(ran.err.find("the kubelet is away") != std::string::npos);
}

TEST_CASE("each reason of a deployment has advice") {
  constexpr auto reasons = texts_of(berth::deployments::Reason());
  for (const std::string_view reason : reasons) {
    INFO(reason);
    CHECK_FALSE(berth::cli::advice_for(reason, "shop").empty());
  }
  CHECK(reasons.size() == 20);
}

TEST_CASE("waiting continues while the server is away for a moment") {
  std::atomic<int> looks = 0;
  const Odd odd([&](const httplib::Request&, httplib::Response& response) {
    const int look = ++looks;
    response.status = look == 2 ? 502 : 200;
    response.set_content(look > 2 ? R"({"status":"running","subdomain":"x"})"
                                  : R"({"status":"pending","subdomain":"x"})",
                         "application/json");
  });
  const Ran ran = odd.berth({"deploy", "status", some_id, "--wait"});
  CHECK(ran.code == 0);
  CHECK(ran.err.find("waiting for it") != std::string::npos);
}

TEST_CASE("waiting ends in time if the server doesn't answer at all") {
  std::atomic<bool> over = false;
  const Odd odd([&](const httplib::Request&, httplib::Response&) {
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  const auto start = std::chrono::steady_clock::now();
  const Ran ran = odd.berth({"deploy", "status", some_id, "--wait", "--timeout", "1"});
  over = true;
  CHECK(ran.code == 8);
  // The client's own time limit for a call, with its retries, would be minutes.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("text that isn't UTF-8 is refused as such") {
  const Odd odd(body(R"({"deployments":[],"total":0})"));
  const Ran ran = odd.berth({"deploy", "create", "\xff", "--image", "i"});
  CHECK(ran.code == 2);
  CHECK(ran.err.find("UTF-8") != std::string::npos);
}
