// Attacks on accounts, against the real berthd.
#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "tests/process/client.h"
#include "tests/totp.h"

using namespace berth::process;

namespace {

// Returns the code for the time of berthd's clock. The code of the step before is accepted, too.
std::string code_now(const std::string& secret) {
  return berth::test::totp(secret, std::chrono::duration_cast<std::chrono::seconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count());
}

struct TotpUser {
  User user;
  std::string secret;
  std::vector<std::string> recovery_codes;
};
TotpUser with_totp(const Berthd& berthd, const std::string& name) {
  TotpUser result = {
      .user = register_verified_user(berthd, name), .secret = {}, .recovery_codes = {}};
  Client client(berthd, result.user.jwt);
  result.secret = expect(200, client.post("/api/auth/totp/setup")).body.at("secret");
  // Uses the code of the step before, so that the present one is still unused.
  const std::string code =
      berth::test::totp(result.secret, std::chrono::duration_cast<std::chrono::seconds>(
                                           std::chrono::system_clock::now().time_since_epoch())
                                               .count() -
                                           30);
  result.recovery_codes =
      expect(200, client.post("/api/auth/totp/enable", {{"code", code}})).body.at("recovery_codes");
  return result;
}

// Returns how many of `threads` simultaneous logins with this code succeed.
int parallel_logins(const Berthd& berthd, const User& user, const std::string& code, int threads) {
  std::atomic<int> succeeded = 0, refused = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      Client client(berthd);
      const Answer answer =
          client.post("/api/auth/login",
                      {{"email", user.email}, {"password", user.password}, {"totp_code", code}});
      if (answer.status == 200) ++succeeded;
      if (answer.status == 401 && answer.code() == "invalid_totp") ++refused;
    });
  for (std::thread& thread : all) thread.join();
  CHECK(succeeded + refused == threads);
  return succeeded;
}

// Returns the probability that a call of one kind takes longer than one of the other; 0.5 means
// that the time tells nothing. It compares ranks, so that a slow moment of the machine counts as a
// single call.
double chance_of_longer(std::vector<double> one, std::vector<double> other) {
  double longer = 0;
  for (const double a : one)
    for (const double b : other) longer += a > b ? 1 : a == b ? 0.5 : 0;
  return longer / double(one.size() * other.size());
}

}  // namespace

TEST_CASE("attack: a TOTP code replayed in parallel opens one session") {
  const Berthd berthd({"--rate-limits", "off"});
  const TotpUser ada = with_totp(berthd, "ada");
  CHECK(parallel_logins(berthd, ada.user, code_now(ada.secret), 16) == 1);
}

TEST_CASE("attack: a recovery code replayed in parallel opens one session") {
  const Berthd berthd({"--rate-limits", "off"});
  const TotpUser ada = with_totp(berthd, "ada");
  for (int i = 0; i < 3; ++i)
    CHECK(parallel_logins(berthd, ada.user, ada.recovery_codes.at(size_t(i)), 16) == 1);
}

TEST_CASE("attack: a reset token replayed in parallel sets one password") {
  const Berthd berthd({"--rate-limits", "off"});
  const User ada = register_verified_user(berthd, "ada");
  Client client(berthd);
  expect(200, client.post("/api/auth/forgot-password", {{"email", ada.email}}));
  const json mails =
      expect(200, client.get("/api/internal/outbox", admin(berthd))).body["messages"];
  const std::string token = mails.at(0).at("token");
  std::atomic<int> succeeded = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < 16; ++i)
    all.emplace_back([&, i] {
      const json body = {{"token", token},
                         {"password", "a new password, number " + std::to_string(i)}};
      if (Client(berthd).post("/api/auth/reset-password", body).status == 200) ++succeeded;
    });
  for (std::thread& thread : all) thread.join();
  CHECK(succeeded == 1);
}

TEST_CASE("attack: user enumeration by time finds nothing") {
  const Berthd berthd({"--rate-limits", "off", "--log-level", "warning"});
  // Many users, so that no mailbox reaches its limit and no row is cached better than others.
  constexpr int users = 25;
  for (int i = 0; i < users; ++i) register_user(berthd, "user" + std::to_string(i));
  Client client(berthd);
  std::mt19937 random(7);
  const auto compare = [&](const std::string& path, json body) {
    std::vector<double> known, unknown;
    for (int i = 0; i < 4 * users; ++i) {
      const bool exists = random() % 2 == 0;
      body["email"] =
          (exists ? "user" : "none") + std::to_string(random() % users) + "@example.org";
      const auto started = std::chrono::steady_clock::now();
      client.post(path, body);
      const double took =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      (exists ? known : unknown).push_back(took);
    }
    return chance_of_longer(known, unknown);
  };
  // With about 50 calls of each kind, the value varies by 0.06 around 0.5. A difference that an
  // attacker can use, such as a hash that isn't computed or a commit that isn't made, gives 0 or 1.
  for (const char* path : {"/api/auth/login", "/api/auth/forgot-password"}) {
    const json body =
        std::string(path).ends_with("login") ? json{{"password", "wrong horse"}} : json::object();
    const double chance = compare(path, body);
    INFO(path);
    CHECK(chance > 0.2);
    CHECK(chance < 0.8);
  }
}

TEST_CASE("attack: password spraying from one address is throttled, and others can log in") {
  const Berthd berthd({"--trusted-proxies", "127.0.0.0/8"});
  const User ada = register_user(berthd, "ada");
  Client client(berthd);
  int asked = 0;
  // The attacker wrote the first line, and a proxy appended the second one.
  const auto login = [&](const std::string& email, const std::string& password,
                         const std::string& from) {
    return client.post("/api/auth/login", {{"email", email}, {"password", password}},
                       {{"X-Forwarded-For", "198.51.100." + std::to_string(++asked % 256)},
                        {"X-Forwarded-For", from}});
  };
  int tried = 0;
  for (; tried < 200; ++tried)
    if (login("user" + std::to_string(tried) + "@example.org", "Summer2026!", "203.0.113.9")
            .status == 429)
      break;
  CHECK(tried <= 100);
  CHECK(login(ada.email, ada.password, "203.0.113.9").status == 429);
  CHECK(login(ada.email, ada.password, "192.0.2.7").status == 200);
}

TEST_CASE("attack: a session that was ended, or whose key is unknown, is refused") {
  Berthd berthd({"--rate-limits", "off"});
  const User ada = register_verified_user(berthd, "ada");
  const User again = log_in(berthd, ada);
  CHECK(again.jwt != ada.jwt);  // a login never continues an existing session
  const auto me = [&](const std::string& jwt) {
    return Client(berthd, jwt).get("/api/auth/me").status;
  };
  expect(200, Client(berthd, again.jwt).post("/api/auth/logout"));
  CHECK(me(again.jwt) == 401);
  CHECK(me(ada.jwt) == 200);
  expect(200, Client(berthd).ask({.method = "POST",
                                  .path = "/api/internal/session-keys/rotate",
                                  .headers = admin(berthd)}));
  const User newest = log_in(berthd, ada);
  // The keys are on disk, so old and new sessions work after a kill.
  berthd.kill();
  berthd.start();
  CHECK(me(ada.jwt) == 200);
  CHECK(me(newest.jwt) == 200);
  CHECK(me(again.jwt) == 401);
}

TEST_CASE("the sign-up bonus is paid once the address is verified") {
  const Berthd berthd;
  const User ada = log_in(berthd, register_user(berthd, "ada"));
  Client client(berthd, ada.jwt);
  CHECK(client.get("/api/auth/me").body["user"]["points"] == 0);
  verify_email(berthd, ada);
  const json me = client.get("/api/auth/me").body["user"];
  CHECK(me["points"] == 500);
  CHECK(me["stats"]["total_earned"] == 500);
}
