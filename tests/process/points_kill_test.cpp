// berthd is killed at random moments under clients that move points and repeat each request that
// has no answer. Every answered request has had its effect once; every other one once or not at
// all.
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/process/client.h"
#include "tests/process/random.h"

using namespace berth::process;

namespace {

constexpr int clients = 32;
constexpr int longest_life_ms = 400;
constexpr std::int64_t start_points = 1'000'000;

// Returns the number of kills, which BERTH_KILLS sets: 500 take some minutes.
int kills() {
  const char* given = std::getenv("BERTH_KILLS");
  return given == nullptr ? 8 : std::stoi(given);
}

struct Movement {
  enum class Kind { spend, transfer, mint } kind;
  std::string note;  // identifies the request in the history
  std::int64_t amount;
};

struct World {
  Berthd berthd{{"--rate-limits", "off"}};
  Operator ada = operator_with_token(berthd, "ada", {"points:spend", "points:transfer"});
  User bob = register_verified_user(berthd, "bob");
  const std::string secret = berthd.internal_secret();
};

Answer send(Client& client, const World& world, const Movement& movement) {
  Headers headers = {{"Idempotency-Key", movement.note}};
  switch (movement.kind) {
    case Movement::Kind::spend:
      return client.post("/api/external/points/spend",
                         {{"amount", movement.amount}, {"description", movement.note}}, headers);
    case Movement::Kind::transfer:
      return client.post("/api/external/points/transfer",
                         {{"to_user_id", world.bob.id},
                          {"amount", movement.amount},
                          {"description", movement.note}},
                         headers);
    case Movement::Kind::mint:
      break;
  }
  headers.emplace("x-internal-secret", world.secret);
  return client.post("/api/internal/points/mint",
                     {{"account", {{"kind", "user"}, {"id", world.ada.user.id}}},
                      {"amount", movement.amount},
                      {"reason", movement.note}},
                     headers);
}

// Repeats a request until there is an answer. After a restart, berthd has another port, which
// clients look up.
class Gate {
 public:
  // Waits while berthd is down. Requests that are running don't hold up others.
  void pass() {
    std::unique_lock lock(mutex_);
    up_changed_.wait(lock, [this] { return up_; });
  }
  void set(bool up) {
    const std::lock_guard lock(mutex_);
    up_ = up;
    up_changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable up_changed_;
  bool up_ = true;
};

// It says little if fewer movements are answered between the kills.
constexpr size_t least_answered = 100;

struct Log {
  std::mutex mutex;
  std::map<std::string, Movement> answered;
  std::string wrong;

  size_t count() {
    const std::lock_guard lock(mutex);
    return answered.size();
  }
};

void move_points(World& world, Gate& gate, Log& log, const std::atomic<bool>& done, int lane,
                 unsigned chosen) {
  Random random = random_of(chosen, unsigned(lane));
  Client client(world.berthd, world.ada.tokens.access_token);
  for (int i = 0; !done; ++i) {
    const Movement movement = {
        .kind = Movement::Kind(std::uniform_int_distribution<int>(0, 2)(random)),
        .note = "lane " + std::to_string(lane) + " movement " + std::to_string(i),
        .amount = std::uniform_int_distribution<std::int64_t>(1, 5)(random)};
    for (;;) {
      gate.pass();
      try {
        const Answer answer = send(client, world, movement);
        if (answer.status == 503) continue;
        const std::lock_guard lock(log.mutex);
        if (answer.status / 100 == 2)
          log.answered.emplace(movement.note, movement);
        else if (log.wrong.empty())
          log.wrong = std::to_string(answer.status) + " " + answer.text;
        break;
      } catch (const NoAnswer&) {
      }
    }
  }
}

// Maps each note to how often it is in the history, and to the sum of the amounts.
std::map<std::string, std::pair<int, std::int64_t>> history(const World& world) {
  std::map<std::string, std::pair<int, std::int64_t>> found;
  Client session(world.berthd, world.ada.user.jwt);
  for (int page = 1;; ++page) {
    const json body =
        expect(200, session.get("/api/points/history?page_size=100&page=" + std::to_string(page)))
            .body;
    for (const json& entry : body.at("entries")) {
      auto& [times, amount] = found[entry.at("description")];
      ++times;
      amount += entry.at("amount").get<std::int64_t>();
    }
    if (std::int64_t(page) * 100 >= body.at("total").get<std::int64_t>()) return found;
  }
}

std::int64_t effect(const Movement& movement) {
  return movement.kind == Movement::Kind::mint ? movement.amount : -movement.amount;
}

}  // namespace

TEST_CASE("kills under clients that repeat requests lose no answered movement and double none") {
  const unsigned chosen = seed();
  WARN("BERTH_SEED=" << chosen);
  World world;
  expect(201, send(*std::make_unique<Client>(world.berthd), world,
                   {.kind = Movement::Kind::mint, .note = "start", .amount = start_points}));
  Gate gate;
  Log log;
  std::atomic<bool> done = false;
  int killed = 0;
  {
    std::vector<std::jthread> threads;
    for (int lane = 0; lane < clients; ++lane)
      threads.emplace_back([&, lane] { move_points(world, gate, log, done, lane, chosen); });
    Random random = random_of(chosen, clients);
    for (; killed < kills() || log.count() < least_answered; ++killed) {
      std::this_thread::sleep_for(up_to(random, longest_life_ms));
      world.berthd.send(9);
      gate.set(false);
      world.berthd.kill();
      world.berthd.start();
      gate.set(true);
    }
    done = true;
  }
  CHECK(log.wrong == "");
  const auto found = history(world);
  int lost = 0, doubled = 0, different = 0;
  for (const auto& [note, movement] : log.answered) {
    const auto entry = found.find(note);
    if (entry == found.end())
      ++lost;
    else if (entry->second.second != effect(movement))
      ++different;
  }
  for (const auto& [note, entry] : found)
    if (note.starts_with("lane ") && entry.first != 1) ++doubled;
  CHECK(lost == 0);
  CHECK(doubled == 0);
  CHECK(different == 0);
  const Answer audit =
      expect(200, Client(world.berthd).get("/api/internal/ledger/audit", admin(world.berthd)));
  INFO(audit.text);
  CHECK(audit.body.at("ok") == true);
  WARN(log.answered.size() << " movements were answered over " << killed << " kills");
}
