#include "api/gate/login_throttle.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth::api;
using namespace std::chrono_literals;
using Secret = LoginThrottle::Secret;

struct Attacker {
  LoginThrottle throttle;
  LoginThrottle::Time now = std::chrono::steady_clock::now();

  bool fail(const std::string& account, const std::string& network, bool known = false,
            Secret secret = Secret::password) {
    return !throttle.begin({.account = account, .network = network, .known_network = known}, secret,
                           now);
  }
  int failures(const std::string& account, const std::string& network, int tries) {
    int made = 0;
    for (int i = 0; i < tries; ++i) made += fail(account, network) ? 1 : 0;
    return made;
  }
};

TEST_CASE("guessing at one account from one network ends after ten failures") {
  Attacker eve;
  CHECK(eve.failures("ada", "192.0.2.1", 1000) == 10);
  CHECK(eve.fail("ada", "192.0.2.2"));
  CHECK(eve.fail("bob", "192.0.2.1"));
}

TEST_CASE("nobody is locked out for good: attempts during a throttle don't count") {
  Attacker eve;
  eve.failures("ada", "192.0.2.1", 1000);
  const auto wait =
      eve.throttle.begin({.account = "ada", .network = "192.0.2.1"}, Secret::password, eve.now);
  REQUIRE(wait);
  CHECK(*wait <= 15min);
  for (int i = 0; i < 15; ++i) {
    eve.now += 59s;
    eve.fail("ada", "192.0.2.1");
  }
  eve.now += 16s;
  CHECK(eve.fail("ada", "192.0.2.1"));
}

TEST_CASE("spraying a password over many accounts ends after a hundred failures") {
  Attacker eve;
  int made = 0;
  for (int i = 0; i < 1000; ++i) made += eve.fail("user" + std::to_string(i), "192.0.2.1") ? 1 : 0;
  CHECK(made == 100);
  // All other users log in as before.
  CHECK(eve.fail("user1", "192.0.2.2"));
}

TEST_CASE("a botnet is throttled at an account, but the owner's network isn't") {
  Attacker eve;
  int made = 0;
  for (int i = 0; i < 1000; ++i)
    made += eve.fail("ada", "198.51." + std::to_string(i) + ".0") ? 1 : 0;
  CHECK(made == 100);
  CHECK_FALSE(eve.fail("ada", "203.0.113.1"));
  CHECK(eve.fail("ada", "192.0.2.1", true));
  CHECK(eve.fail("bob", "203.0.113.1"));
  eve.now += 1h;
  CHECK(eve.fail("ada", "203.0.113.1"));
}

TEST_CASE("somebody who has the password gets twenty guesses of the code in an hour") {
  Attacker eve;
  int made = 0;
  for (int i = 0; i < 100; ++i)
    made += eve.fail("ada", "198.51." + std::to_string(i) + ".0", false, Secret::code) ? 1 : 0;
  CHECK(made == 20);
  CHECK(eve.fail("ada", "192.0.2.1", true, Secret::code));
}

TEST_CASE("a success clears earlier typing errors and its own attempt") {
  Attacker ada;
  const LoginThrottle::Attempt home = {.account = "ada", .network = "192.0.2.1"};
  for (int day = 0; day < 50; ++day) {
    CHECK(ada.failures("ada", "192.0.2.1", 9) == 9);
    CHECK_FALSE(ada.throttle.begin(home, Secret::password, ada.now));
    ada.throttle.succeeded(home, Secret::password);
    ada.now += 20min;
  }
}

TEST_CASE("a success on one's own account doesn't allow more guesses at another's") {
  Attacker eve;
  const LoginThrottle::Attempt own = {.account = "eve", .network = "192.0.2.1"};
  int made = 0;
  for (int i = 0; i < 100; ++i) {
    made += eve.fail("ada", "192.0.2.1") ? 1 : 0;
    if (!eve.throttle.begin(own, Secret::password, eve.now))
      eve.throttle.succeeded(own, Secret::password);
  }
  CHECK(made == 10);
}

TEST_CASE("a throttled attempt creates no keys") {
  Attacker eve;
  for (int i = 0; i < 100; ++i) eve.fail("user" + std::to_string(i), "192.0.2.1");
  const size_t full = eve.throttle.size();
  CHECK(full == 201);  // 100 pairs, 100 accounts and one network
  for (int i = 0; i < 10'000; ++i) CHECK_FALSE(eve.fail("other" + std::to_string(i), "192.0.2.1"));
  CHECK(eve.throttle.size() == full);
}

TEST_CASE("an attempt that is taken back leaves no keys") {
  Attacker ada;
  const LoginThrottle::Attempt home = {.account = "ada", .network = "192.0.2.1"};
  CHECK_FALSE(ada.throttle.begin(home, Secret::password, ada.now));
  CHECK(ada.throttle.size() == 3);
  ada.throttle.undo(home, Secret::password);
  CHECK(ada.throttle.size() == 0);
}

TEST_CASE("a flood of networks doesn't remove an account's failures") {
  Attacker eve;
  for (int i = 0; i < 100; ++i) eve.fail("ada", "198.51." + std::to_string(i) + ".0");
  CHECK_FALSE(eve.fail("ada", "203.0.113.1"));
  // More networks than their table can hold, all trying another account.
  for (size_t i = 0; i < LoginThrottle::max_networks + 10'000; ++i)
    eve.throttle.begin(
        {.account = "eve", .network = "network " + std::to_string(i), .known_network = true},
        Secret::password, eve.now);
  CHECK_FALSE(eve.fail("ada", "203.0.113.1"));
}

}  // namespace
