// The pools of the API, each filled by one network or account: others still get in. The shares
// themselves are tested in tests/base/shares_test.cpp.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <list>
#include <memory>
#include <thread>

#include "api/gate/container_sessions.h"
#include "api/gate/event_stream.h"
#include "api/gate/heavy_reads.h"
#include "api/gate/internal_secret.h"
#include "api/gate/login_throttle.h"
#include "api/gate/rate_limit.h"
#include "api/gate/security_log.h"
#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/domain/social/presence.h"
#include "tests/domain/world.h"

using namespace berth;
using namespace berth::api;
using namespace std::chrono_literals;
using berth::test::refusal;

namespace {

const RateLimiter::Time start = RateLimiter::Time() + 1000h;

// Runs `work` as a request of this claimant.
template <typename Work>
auto as(const std::string& account, const std::string& address, Work&& work) {
  const ClaimantOfThread claimant({.account = account, .address = address});
  return work();
}

std::string hex4(int i) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 12; shift >= 0; shift -= 4) text += digits[i >> shift & 0xf];
  return text;
}
// One of the /64 of a /48.
std::string of_site(int i) { return "2001:db8:1:" + hex4(i % 0x10000) + "::1"; }

// Counts requests of new keys for the /64 of one /48 until it is refused one. Returns how many.
template <typename Take>
int fill(Take&& take) {
  int i = 0;
  while (i < 1'000'000 && as("", of_site(i), [&] { return take(i); })) ++i;
  return i;
}

// A HeavyReads whose threads and places are taken until it ends.
struct Busy {
  explicit Busy(Pool pool) : reads(pool, 1) {}
  ~Busy() {
    may_end = true;
    may_end.notify_all();
  }
  void occupy(const std::string& account, const std::string& address) {
    threads.emplace_back([this, account, address] {
      as(account, address, [&] {
        try {
          reads.run([this] { may_end.wait(false); });
        } catch (const std::exception&) {
          // The time in the queue was over.
        }
      });
    });
  }
  std::string refused(const std::string& account, const std::string& address) {
    return as(account, address, [&] { return refusal([&] { reads.run([] {}); }); });
  }

  HeavyReads reads;
  std::atomic<bool> may_end = false;
  std::list<std::jthread> threads;
};

}  // namespace

TEST_CASE("one account or network doesn't take all streams", "[pool:streams]") {
  EventHub hub({.streams = 96, .streams_of_one = 1000});
  std::list<std::unique_ptr<EventHub::Permit>> open;
  const auto opens = [&](const std::string& account, const std::string& address) {
    return as(account, address,
              [&] { return refusal([&] { open.push_back(hub.admit(account)); }); });
  };
  // One client with many accounts, behind a proxy or not.
  int of_crowd = 0;
  while (opens("u" + std::to_string(of_crowd), "192.0.2.1").empty()) ++of_crowd;
  CHECK(of_crowd == 72);
  CHECK(opens("u1000", "192.0.2.1") == "429 rate_limited");
  for (int i = 0; i < 18; ++i)
    CHECK(opens("v" + std::to_string(i), "198.51." + std::to_string(i) + ".1").empty());
  CHECK(opens("w", "203.0.113.1") == "503 unavailable");
  const ClaimantOfThread admin(
      {.account = "root", .address = "192.0.2.1", .standing = Standing::essential});
  CHECK_NOTHROW(open.push_back(hub.admit("root")));
}

TEST_CASE("one account or network doesn't take all exports", "[pool:exports]") {
  EventHub hub({.exports = 96, .exports_of_one = 1000});
  std::list<std::unique_ptr<EventHub::Permit>> open;
  const auto opens = [&](const std::string& account, const std::string& address) {
    return as(account, address,
              [&] { return refusal([&] { open.push_back(hub.admit_export(account)); }); });
  };
  int of_crowd = 0;
  while (opens("u" + std::to_string(of_crowd), "192.0.2.1").empty()) ++of_crowd;
  CHECK(of_crowd == 72);
  CHECK(opens("u1000", "192.0.2.1") == "429 rate_limited");
  CHECK(opens("v", "198.51.100.1").empty());
}

TEST_CASE("one account or network doesn't take all sessions in containers",
          "[pool:container_sessions]") {
  ContainerSessions sessions(nullptr, {.sessions = 96, .of_account = 1000, .opening = 1});
  std::list<std::unique_ptr<ContainerSessions::Permit>> open;
  const auto opens = [&](const std::string& account, const std::string& address) {
    return as(account, address, [&] {
      return refusal([&] { open.push_back(sessions.admit(exec::SessionKind::exec, account)); });
    });
  };
  int of_crowd = 0;
  while (opens("u" + std::to_string(of_crowd), "192.0.2.1").empty()) ++of_crowd;
  CHECK(of_crowd == 72);
  CHECK(opens("u1000", "192.0.2.1") == "429 rate_limited");
  for (int i = 0; i < 18; ++i)
    CHECK(opens("v" + std::to_string(i), "198.51." + std::to_string(i) + ".1").empty());
  CHECK(opens("w", "203.0.113.1") == "503 unavailable");
  open.resize(2);
  // Few are opened at once, because the cluster may be slow.
  CHECK(open.front()->opening([&] {
    return refusal([&] { open.back()->opening([] { return 0; }); });
  }) == "503 unavailable");
  CHECK(open.back()->opening([] { return 7; }) == 7);

  ContainerSessions slow(nullptr, {.sessions = 96, .opening = 3, .opening_of_account = 1});
  const auto permit = [&](const std::string& account) {
    return as(account, "192.0.2.1", [&] { return slow.admit(exec::SessionKind::exec, account); });
  };
  const auto first = permit("ada");
  const auto second = permit("ada");
  const auto other = permit("bob");
  first->opening([&] {
    CHECK(refusal([&] { second->opening([] { return 0; }); }) == "429 rate_limited");
    CHECK(other->opening([] { return 7; }) == 7);
    return 0;
  });
  CHECK(second->opening([] { return 7; }) == 7);
}

TEST_CASE("one network doesn't take all threads for heavy reads",
          "[pool:heavy_reads][pool:deep_pages]") {
  for (const Pool pool : {Pool::heavy_reads, Pool::deep_pages}) {
    CAPTURE(to_string(pool));
    Busy busy(pool);
    const size_t of_crowd = limits_of(HeavyReads::places).binds_at;
    for (size_t i = 0; i < of_crowd; ++i) busy.occupy("u" + std::to_string(i), "192.0.2.1");
    while (figures_of(pool).used < of_crowd) std::this_thread::yield();
    CHECK(busy.refused("u", "192.0.2.1") == "503 unavailable");
    // The stranger has a place, and waits for a thread.
    CHECK_THROWS_AS(as("v", "198.51.100.1", [&] { busy.reads.run([] {}); }), db::TooSlow);
  }
}

TEST_CASE("one network doesn't take all places for hashing passwords", "[pool:password_hashes]") {
  PasswordHasher hasher(1, 15);
  std::atomic<bool> go = false;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 40; ++i)
      threads.emplace_back([&] {
        go.wait(false);
        if (as("", "192.0.2.1", [&] { return refusal([&] { hasher.hash("secret"); }); }) ==
            "503 unavailable")
          ++refused;
      });
    go = true;
    go.notify_all();
    // Three quarters of the places are the crowd's; somebody else gets one.
    CHECK(as("", "198.51.100.1", [&] { return refusal([&] { hasher.hash("secret"); }); }).empty());
  }
  CHECK(refused > 0);
}

TEST_CASE("one site doesn't push others out of the tables of what is counted",
          "[pool:rates_of_networks][pool:failed_logins_of_networks][pool:logged_networks]"
          "[pool:wrong_secrets_of_networks][pool:failed_logins_of_pairs]"
          "[pool:failed_logins_of_accounts][pool:failed_codes_of_accounts]") {
  int walked = 0;
  for (const Pool pool :
       {Pool::rates_of_networks, Pool::failed_logins_of_networks, Pool::logged_networks,
        Pool::wrong_secrets_of_networks, Pool::failed_logins_of_pairs,
        Pool::failed_logins_of_accounts, Pool::failed_codes_of_accounts}) {
    CAPTURE(to_string(pool));
    ++walked;
    constexpr size_t most = 16'000;
    RateLimiter limiter(pool, most);
    const Rate rate = per_minute(1);
    const auto take = [&](const std::string& key) { return limiter.take(key, rate, start); };
    as("", "203.0.113.1", [&] { CHECK(take("watched").allowed); });
    const int let_in = fill([&](int i) { return take(std::to_string(i)).allowed; });
    CHECK(let_in < int(most * 3 / 4));
    as("", of_site(999), [&] {
      const auto verdict = take("another key");
      CHECK_FALSE(verdict.allowed);
      CHECK(verdict.over_share);
      CHECK_FALSE(limiter.look("another key", rate, start).allowed);
      // What it has is still counted for it.
      CHECK_FALSE(take("0").allowed);
    });
    // Who was counted before still is, and strangers are counted.
    as("", "203.0.113.1", [&] { CHECK_FALSE(take("watched").allowed); });
    as("", "198.51.100.1", [&] {
      CHECK(take("stranger").allowed);
      CHECK_FALSE(take("stranger").allowed);
    });
  }
  CHECK(walked == 7);
}

TEST_CASE("an app's server counts for many users, and an account has a share of the keys",
          "[pool:rates_of_callers]") {
  constexpr size_t most = 16'000;
  RateLimiter limiter(Pool::rates_of_callers, most);
  const Rate rate = per_minute(1);
  for (int i = 0; i < int(most); ++i)
    as("u" + std::to_string(i), "192.0.2.1",
       [&] { REQUIRE_FALSE(limiter.take(std::to_string(i), rate, start).over_share); });
  RateLimiter of_one(Pool::rates_of_callers, most);
  int keys = 0;
  while (as("mallory", "192.0.2.1",
            [&] { return of_one.take(std::to_string(keys), rate, start).allowed; }))
    ++keys;
  CHECK(keys <= int(most * 3 / 4));
}

TEST_CASE("one account doesn't take all seats, and one network not all places of users",
          "[pool:presence_users][pool:presence_seats]") {
  berth::test::World world;
  const Instant now = world.clock.now();
  presence::Board board;
  const auto comes = [&](int i, const std::string& address) {
    return as("", address, [&] {
      return refusal([&] { board.set("u" + std::to_string(i), {}, presence::Going::stays, now); });
    });
  };
  int users = 0;
  while (comes(users, "192.0.2.1").empty()) ++users;
  CHECK(users == int(presence::Board::max_users * 3 / 4));
  CHECK(comes(users, "192.0.2.1") == "503 unavailable");
  CHECK(comes(0, "192.0.2.1").empty());
  CHECK(comes(users, "198.51.100.1").empty());

  world.read([&](db::Tx& tx) {
    const auto sits = [&](const std::string& user, int i) {
      return refusal([&] { board.sit(tx, "t" + std::to_string(i), user, presence::Going::stays); });
    };
    int seats = 0;
    while (sits("mallory", seats).empty()) ++seats;
    CHECK(seats == int(presence::Board::max_seats * 3 / 4));
    CHECK(sits("ada", 0).empty());
    CHECK(sits("mallory", 0).empty());
  });
}
