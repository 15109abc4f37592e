// The specification's "Limits".
#include <catch2/catch.hpp>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

constexpr int window_seconds = 60;

struct Limited {
  Ask ask;
  int limit;  // per minute
};

std::vector<Limited> specified(const std::string& id) {
  const std::string apps = "/api/deploy/apps";
  const std::string path = apps + "/" + id;
  return {{{.method = "GET", .path = "/api/deploy/tiers"}, 30},
          {{.method = "GET", .path = apps}, 30},
          {{.method = "GET", .path = path}, 30},
          {{.method = "GET", .path = path + "/status"}, 30},
          {{.method = "GET", .path = path + "/logs"}, 30},
          {{.method = "POST", .path = apps, .body = "{}"}, 10},
          {{.method = "POST", .path = path + "/restart"}, 10},
          {{.method = "POST", .path = path + "/stop"}, 10},
          {{.method = "DELETE", .path = path}, 10}};
}

void check_refused(const Answer& answer, int limit) {
  CHECK(answer.status == 429);
  CHECK(answer.code() == "rate_limited");
  CHECK(answer.header("RateLimit-Limit") == std::to_string(limit));
  CHECK(answer.header("RateLimit-Remaining") == "0");
  for (const char* header : {"Retry-After", "RateLimit-Reset"}) {
    const int seconds = std::stoi("0" + answer.header(header));
    CHECK(seconds >= 1);
    CHECK(seconds <= window_seconds);
  }
}

}  // namespace

TEST_CASE("the specification's number of requests per minute is allowed, and not one more") {
  const Berthd berthd;
  Operator ada = operator_with_token(berthd, "ada");
  Operator ben = operator_with_token(berthd, "ben");
  // Ben created it, so that ada's ten creations are left; ada is told that it isn't hers.
  const std::string id = deploy(ben.api, order("hello"));
  for (const auto& [ask, limit] : specified(id)) {
    INFO(ask.method << " " << ask.path);
    for (int i = 1; i <= limit; ++i) {
      const Answer answer = ada.api.ask(ask);
      REQUIRE(answer.status != 429);
      CHECK(answer.header("RateLimit-Limit") == std::to_string(limit));
      CHECK(answer.header("RateLimit-Remaining") == std::to_string(limit - i));
      CHECK(!answer.has_header("Retry-After"));
    }
    check_refused(ada.api.ask(ask), limit);
    check_refused(ada.api.ask(ask), limit);
    CHECK(ben.api.ask(ask).status != 429);  // counted separately for each grant
  }
}

TEST_CASE("a fresh token of the same grant doesn't reset the count") {
  const Berthd berthd;
  Operator ada = operator_with_token(berthd, "ada");
  for (int i = 0; i < 30; ++i) expect(200, ada.api.get("/api/deploy/apps"));
  Client anybody(berthd);
  const Tokens fresh = tokens_of(expect(
      200, anybody.post("/api/oauth/token", refresh_exchange(ada.app, ada.tokens.refresh_token))));
  check_refused(Client(berthd, fresh.access_token).get("/api/deploy/apps"), 30);
  CHECK(Client(berthd, fresh.access_token).get("/api/deploy/tiers").status == 200);
}

TEST_CASE("logins from one address are counted, right or wrong") {
  const Berthd berthd;
  // Uses another account each time, because guessing at one is refused sooner.
  const auto guess = [](int number) {
    return json{{"email", "nobody" + std::to_string(number) + "@example.org"},
                {"password", "guessed password"}};
  };
  Client guesser(berthd);
  for (int i = 0; i < 20; ++i) CHECK(guesser.post("/api/auth/login", guess(i)).status == 401);
  // An address that the caller made up isn't used.
  check_refused(guesser.post("/api/auth/login", guess(20), {{"X-Forwarded-For", "192.0.2.1"}}), 20);
}

TEST_CASE("rate limits can be turned off") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  for (int i = 0; i < 40; ++i) {
    const Answer answer = expect(200, ada.api.get("/api/deploy/tiers"));
    CHECK(!answer.has_header("RateLimit-Limit"));
  }
}
