#include "controller/base/shares.h"

#include <catch2/catch.hpp>
#include <future>
#include <list>
#include <thread>

using namespace berth;
using namespace std::chrono_literals;
using Taken = Shares::Taken;

namespace {

// Large enough that all fractions differ.
constexpr std::size_t places = 96;

using Claims = std::list<Shares::Claim>;

// Takes places for the claimants, in turn, until one is refused. Returns why.
template <typename Next>
Taken take_until_refused(Shares& shares, Claims& taken, Next&& next) {
  while (true) {
    Shares::Claim claim(shares, next(taken.size()));
    if (const Taken result = claim.take(); result != Taken::yes) return result;
    taken.push_back(std::move(claim));
  }
}

Claimant from(const std::string& address) { return {.account = {}, .address = address}; }
Claimant of(const std::string& account) { return {.account = account, .address = {}}; }
std::string ipv4(std::size_t i) {
  return "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
}

std::size_t taken_of(Shares& shares, const std::function<Claimant(std::size_t)>& next,
                     Claims& kept) {
  const std::size_t before = kept.size();
  take_until_refused(shares, kept, [&](std::size_t size) { return next(size - before); });
  return kept.size() - before;
}

}  // namespace

// The walk over all pools: whoever has shares of it can't keep others out.
TEST_CASE("each pool keeps places from one account or network for others, and a reserve") {
  std::size_t walked = 0;
  for (std::size_t i = 0; i < pools; ++i) {
    const PoolInfo& row = info(Pool(i));
    CAPTURE(to_string(row.pool));
    ++walked;
    CHECK_FALSE(row.place.empty());
    CHECK_FALSE(row.if_taken.empty());
    Shares shares(row.pool, places);
    const PoolLimits& limits = shares.limits();
    CHECK(limits.binds_at == places * 3 / 4);
    const bool by_network = row.sharers != Sharers::accounts;
    const auto crowd = [&](std::size_t) { return by_network ? from("192.0.2.1") : of("mallory"); };
    const auto strangers = [&](std::size_t stranger) {
      return by_network ? from("198.51." + std::to_string(stranger) + ".1")
                        : of("u" + std::to_string(stranger));
    };
    Claims taken;
    // One network may use three quarters of what nobody else wants.
    CHECK(taken_of(shares, crowd, taken) == limits.binds_at);
    CHECK(shares.look(crowd(0)) == Taken::over_share);
    CHECK(taken_of(shares, strangers, taken) == limits.ordinary - limits.binds_at);
    CHECK(shares.look(strangers(999)) == Taken::full);
    // Probes and admins have the reserve.
    CHECK(row.has_reserve == (limits.ordinary < places));
    std::size_t essential = 0;
    for (Claims more; essential < places; ++essential) {
      more.emplace_back(shares, Claimant{.standing = Standing::essential});
      if (more.back().take() != Taken::yes) break;
    }
    CHECK(essential == places - limits.ordinary);
    const PoolFigures figures = shares.figures();
    CHECK(figures.used == limits.ordinary);
    CHECK(figures.over_share > 0);
    CHECK(figures.full > 0);
    taken.clear();
    CHECK(shares.used() == 0);
    CHECK(shares.counted() == 0);
  }
  CHECK(walked == 29);
}

TEST_CASE("shares bind for accounts and for networks of each width") {
  struct Row {
    const char* what;
    std::function<Claimant(std::size_t)> next;  // the claimants of one account or network
    std::size_t share;
  };
  const PoolLimits limits = limits_of(places);
  const Row rows[] = {
      {"an account, from many networks",
       [](std::size_t i) { return Claimant{.account = "mallory", .address = ipv4(i * 250)}; },
       limits.of_account},
      {"an IPv4 address",
       [](std::size_t i) {
         return Claimant{.account = "u" + std::to_string(i), .address = "192.0.2.1"};
       },
       limits.of_narrow_network},
      {"an IPv4 address in IPv6's notation",
       [](std::size_t i) { return from(i % 2 == 0 ? "::ffff:192.0.2.1" : "192.0.2.1"); },
       limits.of_narrow_network},
      {"an IPv4 /24", [](std::size_t i) { return from("192.0.2." + std::to_string(i % 250)); },
       limits.of_middle_network},
      {"an IPv6 /64", [](std::size_t i) { return from("2001:db8:1:1::" + std::to_string(i + 1)); },
       limits.of_narrow_network},
      {"an IPv6 /56",
       [](std::size_t i) { return from("2001:db8:1:1" + std::to_string(i % 90 + 10) + "::1"); },
       limits.of_middle_network},
      {"an IPv6 /48",
       [](std::size_t i) { return from("2001:db8:1:" + std::to_string(i * 100 % 9000) + "::1"); },
       limits.of_wide_network},
      {"what isn't an address", [](std::size_t) { return from("unknown"); },
       limits.of_narrow_network},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Shares shares(Pool::streams, places);
    Claims taken;
    // Claimants without account and address fill it to where shares bind.
    while (taken.size() < limits.binds_at)
      REQUIRE(taken.emplace_back(shares, Claimant{}).take() == Taken::yes);
    Claims of_one;
    CHECK(take_until_refused(shares, of_one, row.next) == Taken::over_share);
    CHECK(of_one.size() <= row.share);
    CHECK(of_one.size() >= std::min(row.share, limits.of_middle_network));
    // Others aren't concerned.
    Shares::Claim other(shares, {.account = "ada", .address = "203.0.113.7"});
    CHECK(other.take() == Taken::yes);
    // What is given back can be taken again.
    of_one.pop_back();
    Shares::Claim again(shares, row.next(0));
    CHECK(again.take() == Taken::yes);
  }
}

TEST_CASE("the fractions of a pool") {
  STATIC_REQUIRE(limits_of(960).ordinary == 900);
  STATIC_REQUIRE(limits_of(960).binds_at == 720);
  STATIC_REQUIRE(limits_of(960).of_account == 30);
  STATIC_REQUIRE(limits_of(960).of_narrow_network == 60);
  STATIC_REQUIRE(limits_of(960).of_middle_network == 80);
  STATIC_REQUIRE(limits_of(960).of_wide_network == 120);
  // A small pool has a share of one place for everybody, and no reserve.
  STATIC_REQUIRE(limits_of(4).ordinary == 4);
  STATIC_REQUIRE(limits_of(4).binds_at == 3);
  STATIC_REQUIRE(limits_of(4).of_account == 1);
  STATIC_REQUIRE(limits_of(0).ordinary == 0);
}

TEST_CASE("a claim takes one place, however often it asks, and gives it back once") {
  Shares shares(Pool::streams, 2);
  {
    Shares::Claim claim(shares, from("192.0.2.1"));
    CHECK(claim.take() == Taken::yes);
    CHECK(claim.take() == Taken::yes);
    CHECK(shares.used() == 1);
    Shares::Claim moved = std::move(claim);
    CHECK(shares.used() == 1);
    CHECK(moved.has_place());
    moved.release();
    moved.release();
    CHECK(shares.used() == 0);
    CHECK(moved.take() == Taken::yes);
  }
  CHECK(shares.used() == 0);
  CHECK(shares.counted() == 0);
  Shares::Claim nobody;
  CHECK(nobody.take() == Taken::full);
}

TEST_CASE(
    "who waits gets the place that they may have, before those who came earlier and may not") {
  Shares shares(Pool::handlers, 16);  // 12 for all, 15 without the reserve, one for each network
  std::list<Shares::Claim> crowd;
  for (int i = 0; i < 12; ++i)
    REQUIRE(crowd.emplace_back(shares, from("192.0.2.1")).take() == Taken::yes);
  std::list<Shares::Claim> others;
  for (int i = 0; i < 3; ++i)
    REQUIRE(others.emplace_back(shares, from("198.51." + std::to_string(i) + ".1")).take() ==
            Taken::yes);
  const auto wait = [&](const std::string& address) {
    return std::async(std::launch::async, [&shares, address] {
      Shares::Claim claim(shares, from(address));
      return claim.wait(std::chrono::steady_clock::now() + 60s);
    });
  };
  auto of_crowd = wait("192.0.2.1");
  while (shares.counted() < 1) std::this_thread::yield();
  auto stranger = wait("203.0.113.1");
  others.pop_front();
  CHECK(stranger.get());
  CHECK(of_crowd.wait_for(0s) == std::future_status::timeout);
  Shares::Claim late(shares, from("192.0.2.1"));
  CHECK_FALSE(late.wait(std::chrono::steady_clock::now()));
  // The crowd's own place helps only when the pool is below three quarters again.
  others.clear();
  crowd.pop_front();
  CHECK(of_crowd.get());
  shares.close();
  Shares::Claim after(shares, from("203.0.113.1"));
  CHECK_FALSE(after.wait(std::chrono::steady_clock::now() + 60s));
}

TEST_CASE("the claimant of a thread is the innermost one") {
  CHECK(Claimant::of_thread().account.empty());
  ClaimantOfThread::set_account("nobody's");
  CHECK(Claimant::of_thread().account.empty());
  {
    const ClaimantOfThread outer({.address = "192.0.2.1"});
    ClaimantOfThread::set_account("ada");
    {
      const ClaimantOfThread inner(Claimant::of_thread());
      ClaimantOfThread::set_account("bob");
      ClaimantOfThread::set_app("shop");
      CHECK(Claimant::of_thread().account == "bob");
      CHECK(Claimant::of_thread().address == "192.0.2.1");
    }
    CHECK(Claimant::of_thread().account == "ada");
    CHECK(Claimant::of_thread().app.empty());
    std::thread([] { CHECK(Claimant::of_thread().account.empty()); }).join();
  }
  CHECK(Claimant::of_thread().account.empty());
}

TEST_CASE("many threads never hold more places than there are") {
  Shares shares(Pool::handlers, 4);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        Shares::Claim claim(shares, from(ipv4(std::size_t(t) * 250)));
        for (int i = 0; i < 500; ++i) {
          if (!claim.wait(std::chrono::steady_clock::now() + 60s)) return;
          const int now = ++inside;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
          }
          --inside;
          claim.release();
        }
      });
  }
  CHECK(most <= 4);
  CHECK(shares.used() == 0);
}

TEST_CASE(
    "a claim that is queued is told when it has a place, in order, and once the pool closes") {
  Shares shares(Pool::handlers, 16);
  const Claimant anybody = from(ipv4(0));
  std::vector<Shares::Claim> taken;
  for (std::size_t i = 0; i < shares.limits().ordinary; ++i) {
    taken.emplace_back(shares, from(ipv4(i * 251)));
    REQUIRE(taken.back().queue(Standing::ordinary, [] { FAIL("nothing to wait for"); }));
  }
  std::string told;
  Shares::Claim first(shares, from(ipv4(100 * 251))), second(shares, from(ipv4(101 * 251))),
      third(shares, from(ipv4(102 * 251)));
  CHECK_FALSE(first.queue(Standing::ordinary, [&] { told += "1"; }));
  CHECK_FALSE(second.queue(Standing::ordinary, [&] { told += "2"; }));
  CHECK_FALSE(third.queue(Standing::ordinary, [&] { told += "3"; }));
  CHECK(told.empty());
  CHECK_FALSE(first.leave_queue());
  taken[0].release();
  CHECK(told == "2");
  CHECK(second.leave_queue());
  CHECK(second.has_place());
  CHECK(shares.used() == shares.limits().ordinary);
  second.release();
  CHECK(told == "23");
  // It has its place, whether or not it leaves the queue before it is destroyed.
  CHECK(shares.used() == shares.limits().ordinary);
  Shares::Claim last(shares, anybody);
  CHECK_FALSE(last.queue(Standing::ordinary, [&] { told += "4"; }));
  shares.close();
  CHECK(told == "234");
  CHECK_FALSE(last.leave_queue());
  Shares::Claim late(shares, anybody);
  CHECK_FALSE(late.queue(Standing::ordinary, [&] { told += "5"; }));
  CHECK(told == "2345");
}
