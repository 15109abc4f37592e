// Failed logins that several processes on one database count together.
#include <catch2/catch.hpp>
#include <thread>

#include "api/gate/login_throttle.h"
#include "controller/domain/accounts/expiry.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace std::chrono_literals;
using Secret = LoginThrottle::Secret;

struct Three {
  berth::test::World world;
  const std::string key = std::string(32, 'k');
  LoginThrottle first{world.db, key}, second{world.db, key}, third{world.db, key};

  std::optional<std::chrono::seconds> begin(LoginThrottle& at, const std::string& account,
                                            const std::string& network, bool known = false) {
    return at.begin({.account = account, .network = network, .known_network = known},
                    Secret::password, std::chrono::steady_clock::now());
  }
  // Tries at each process in turn. Returns how many tries were allowed.
  int failures(const std::string& account, const std::string& network, int tries) {
    int made = 0;
    LoginThrottle* const all[] = {&first, &second, &third};
    for (int i = 0; i < tries; ++i) made += begin(*all[i % 3], account, network) ? 0 : 1;
    return made;
  }
  std::int64_t rows() {
    return world.read(
        [](db::Tx& tx) { return tx.number(R"(SELECT count(*) FROM login_failures)"); });
  }
};

TEST_CASE("ten guesses at an account are ten, whichever berthd they go to") {
  Three three;
  CHECK(three.failures("ada", "192.0.2.1", 100) == 10);
  CHECK(three.failures("ada", "192.0.2.2", 1) == 1);
  CHECK(three.failures("bob", "192.0.2.1", 1) == 1);
  three.world.clock.advance(1min);
  const auto wait = three.begin(three.second, "ada", "192.0.2.1");
  REQUIRE(wait);
  CHECK(*wait == 14min);
  three.world.clock.advance(14min);
  CHECK_FALSE(three.begin(three.first, "ada", "192.0.2.1"));
}

TEST_CASE("ten guesses that arrive at once are ten") {
  Three three;
  std::atomic<int> allowed = 0;
  std::vector<std::thread> guessers;
  for (LoginThrottle* at : {&three.first, &three.second, &three.third})
    for (int i = 0; i < 4; ++i)
      guessers.emplace_back([&, at] {
        for (int tries = 0; tries < 5; ++tries)
          if (!three.begin(*at, "ada", "192.0.2.1")) ++allowed;
      });
  for (std::thread& guesser : guessers) guesser.join();
  CHECK(allowed == 10);
}

TEST_CASE("a network that tries many accounts is throttled at all processes, and so is a botnet") {
  Three three;
  int made = 0;
  for (int i = 0; i < 150; ++i) made += three.failures("user" + std::to_string(i), "192.0.2.1", 1);
  CHECK(made == 100);
  made = 0;
  for (int i = 0; i < 150; ++i) made += three.failures("ada", "host" + std::to_string(i), 1);
  CHECK(made == 100);
  CHECK_FALSE(three.begin(three.third, "ada", "home", true));
}

TEST_CASE("a login at one berthd takes back what failed at others") {
  Three three;
  const LoginThrottle::Attempt home = {.account = "ada", .network = "192.0.2.1"};
  CHECK(three.failures("ada", "192.0.2.1", 9) == 9);
  CHECK_FALSE(three.begin(three.first, "ada", "192.0.2.1"));
  three.second.succeeded(home, Secret::password);
  CHECK(three.failures("ada", "192.0.2.1", 20) == 10);
  CHECK(three.begin(three.third, "ada", "192.0.2.1"));
  three.first.undo(home, Secret::password);
  CHECK_FALSE(three.begin(three.third, "ada", "192.0.2.1"));
}

TEST_CASE(
    "what isn't allowed writes nothing, and what is counted is hashed and goes after an hour") {
  Three three;
  CHECK(three.failures("ada", "192.0.2.1", 10) == 10);
  CHECK(three.rows() == 30);
  const auto writes = three.world.db.writes();
  CHECK(three.failures("ada", "192.0.2.1", 50) == 0);
  CHECK(three.world.db.writes() == writes);
  three.world.read([](db::Tx& tx) {
    CHECK(tx.number(R"(SELECT count(*) FROM login_failures
                       WHERE key_hash LIKE '%ada%' OR key_hash LIKE '%192%0%2%1%'
                          OR length(key_hash) <> 32)") == 0);
  });
  three.world.clock.advance(1h);
  three.world.write([](db::Tx& tx) {
    CHECK(accounts::is_any_old(tx));
    CHECK(accounts::remove_old(tx, 1'000) == 30);
  });
  CHECK(three.rows() == 0);
}

}  // namespace
