// Everything that was answered is on disk, however berthd ends.
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "tests/process/client.h"
#include "tests/process/random.h"

using namespace berth::process;

namespace {

constexpr std::int64_t genesis = 1'000'000'000;  // the default of treasury-genesis in development
constexpr int minters = 6;
constexpr int registrars = 2;

struct Mint {
  std::string key;     // Idempotency-Key
  std::string answer;  // empty if there was none
};

Answer mint(const Berthd& berthd, Client& client, const std::string& key) {
  Headers headers = admin(berthd);
  headers.emplace("Idempotency-Key", key);
  const json body = {{"account", {{"kind", "treasury"}}}, {"amount", 1}, {"reason", key}};
  return client.post("/api/internal/points/mint", body, std::move(headers));
}

// Mints points until berthd is gone. The last request has no answer.
std::vector<Mint> mint_on(const Berthd& berthd, const std::string& name) {
  Client client(berthd);
  std::vector<Mint> mints;
  try {
    for (int i = 0;; ++i) {
      mints.push_back({.key = name + "-" + std::to_string(i), .answer = {}});
      const Answer answer = mint(berthd, client, mints.back().key);
      if (answer.status == 503) break;  // nothing was changed
      mints.back().answer = expect(201, answer).text;
    }
  } catch (const NoAnswer&) {
  }
  return mints;
}

std::vector<User> register_on(const Berthd& berthd, const std::string& name) {
  std::vector<User> users;
  try {
    for (int i = 0;; ++i) users.push_back(register_user(berthd, name + "-" + std::to_string(i)));
  } catch (const std::exception&) {  // there was no answer, or a 503 during the shutdown
  }
  return users;
}

struct Load {
  std::vector<std::future<std::vector<Mint>>> minting;
  std::vector<std::future<std::vector<User>>> registering;
};

Load start_load(const Berthd& berthd, const std::string& round) {
  Load load;
  for (int i = 0; i < minters; ++i)
    load.minting.push_back(std::async(std::launch::async, mint_on, std::cref(berthd),
                                      round + "-mint-" + std::to_string(i)));
  for (int i = 0; i < registrars; ++i)
    load.registering.push_back(std::async(std::launch::async, register_on, std::cref(berthd),
                                          round + "-user-" + std::to_string(i)));
  return load;
}

std::int64_t treasury(const Berthd& berthd) {
  return expect(200, Client(berthd).get("/api/internal/treasury", admin(berthd)))
      .body.at("balance");
}

struct Told {
  std::vector<Mint> mints;
  std::vector<User> users;
};

Told end_of(Load& load) {
  Told told;
  for (auto& part : load.minting)
    for (Mint& mint : part.get()) told.mints.push_back(std::move(mint));
  for (auto& part : load.registering)
    for (User& user : part.get()) told.users.push_back(std::move(user));
  return told;
}

// After the restart, each answered write is there, and each request that is repeated has its effect
// once.
void check_kept(const Berthd& berthd, const Told& told, std::int64_t before) {
  const auto answered = std::count_if(told.mints.begin(), told.mints.end(),
                                      [](const Mint& mint) { return !mint.answer.empty(); });
  CHECK(answered > 0);
  CHECK(treasury(berthd) >= before + answered);
  CHECK(treasury(berthd) <= before + std::int64_t(told.mints.size()));
  Client client(berthd);
  for (const Mint& known : told.mints) {
    const Answer again = expect(201, mint(berthd, client, known.key));
    if (!known.answer.empty()) CHECK(again.text == known.answer);
  }
  CHECK(treasury(berthd) == before + std::int64_t(told.mints.size()));
  for (const User& user : told.users) CHECK_NOTHROW(log_in(berthd, user));
}

}  // namespace

TEST_CASE("SIGTERM under load: what was answered is there after the restart") {
  Berthd berthd({"--rate-limits", "off"});
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t before = treasury(berthd);
    if (round == 0) CHECK(before == genesis);
    Load load = start_load(berthd, "term-" + std::to_string(round));
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    CHECK(berthd.terminate() == 0);
    const Told told = end_of(load);
    CHECK(berthd.log().back().value("drained", false));
    berthd.start();
    check_kept(berthd, told, before);
  }
}

TEST_CASE("SIGKILL under load: what was answered is there after the restart") {
  const unsigned chosen = seed();
  WARN("BERTH_SEED=" << chosen);
  Random random = random_of(chosen);
  Berthd berthd({"--rate-limits", "off"});
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t before = treasury(berthd);
    Load load = start_load(berthd, "kill-" + std::to_string(round));
    std::this_thread::sleep_for(std::chrono::milliseconds(100) + up_to(random, 200));
    berthd.kill();
    const Told told = end_of(load);
    berthd.start();
    check_kept(berthd, told, before);
  }
}
