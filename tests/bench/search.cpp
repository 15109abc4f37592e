// Measures user search over a thousand users and over a million; see the script `search`.
//
// usage: bench_search DIRECTORY [SEARCHES]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "controller/domain/user_search.h"

namespace berth {
namespace {

using std::chrono::steady_clock;

constexpr int few = 1'000;
constexpr int many = 1'000'000;
constexpr int added_at_once = 5'000;
constexpr double goal = 5.0;  // times slower at most
constexpr const char* searcher = "user-0";

using Random = std::mt19937_64;

// Names as people choose them: two to four syllables, often a number behind them.
std::string random_name(Random& random) {
  static const std::vector<std::string> syllables = {
      "an",  "na",   "mar", "ta", "el",  "li",  "jo", "han", "nes", "ka",
      "rin", "to",   "mas", "pe", "ter", "su",  "sa", "ne",  "da",  "vid",
      "ro",  "bert", "al",  "ex", "mi",  "cha", "so", "phi", "lu",  "cas",
      "ben", "ja",   "min", "ke", "vin", "ol",  "ga", "fre", "der", "ik"};
  std::string name;
  for (auto count = 2 + random() % 3; count > 0; --count)
    name += syllables[random() % syllables.size()];
  if (random() % 3 != 0) name += std::to_string(random() % 100'000);
  return name;
}

// The names by number: the same ones in every run.
std::vector<std::string> names(int count) {
  Random random(42);
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i)
    all.push_back(random_name(random) + "-" + std::to_string(i % 997));
  return all;
}

void add_users(db::Database& database, const std::vector<std::string>& all, int from, int to) {
  for (int at = from; at < to; at += added_at_once)
    database.write([&](db::Tx& tx) {
      for (int i = at; i < std::min(to, at + added_at_once); ++i) {
        const std::string number = std::to_string(i);
        tx.execute(
            "INSERT OR IGNORE INTO users (id, email, email_key, username, username_key, "
            "password_hash, referral_code, registration_number, signup_multiplier, created_at, "
            "updated_at) VALUES ('user-' || $1, $1, $1, $2, $2, '', $1, $3, 1, 0, 0)",
            number, all[size_t(i)], i + 1);
      }
    });
}

struct Figures {
  double p50 = 0, p99 = 0, worst = 0;  // microseconds
  double found = 0;                    // on average
};

Figures measure(db::Database& database, const std::vector<std::string>& all, int users,
                int searches) {
  Random random(7);
  std::vector<double> took;
  double found = 0;
  for (int i = 0; i < searches; ++i) {
    // A part of somebody's name, from its beginning as often as not; now and then one of nobody's.
    const std::string& name = all[random() % size_t(users)];
    const size_t length = 2 + random() % 5;
    const size_t start = random() % 2 == 0 ? 0 : random() % (name.size() - 1);
    std::string query = name.substr(start, length);
    if (query.size() < 2 || random() % 20 == 0) query = "qx" + std::to_string(random() % 100);
    const auto begin = steady_clock::now();
    const auto results =
        database.read([&](db::Tx& tx) { return user_search::search(tx, searcher, query); });
    took.push_back(std::chrono::duration<double, std::micro>(steady_clock::now() - begin).count());
    found += double(results.size());
  }
  std::ranges::sort(took);
  return {.p50 = took[took.size() / 2],
          .p99 = took[took.size() * 99 / 100],
          .worst = took.back(),
          .found = found / searches};
}

void print(int users, const Figures& figures, std::uintmax_t bytes) {
  std::printf("| %d | %.0f | %.0f | %.0f | %.1f | %.0f |\n", users, figures.p50, figures.p99,
              figures.worst, figures.found, double(bytes) / (1 << 20));
}

int run(const std::filesystem::path& directory, int searches) {
  const Clock clock;
  db::Database database(directory / "berth.db", clock);
  const auto all = names(many);
  const auto size = [&] { return std::filesystem::file_size(directory / "berth.db"); };
  std::printf(
      "| users | p50 µs | p99 µs | worst µs | found | database MiB |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  add_users(database, all, 0, few);
  measure(database, all, few, searches / 10);  // warms up
  const Figures small = measure(database, all, few, searches);
  print(few, small, size());
  add_users(database, all, few, many);
  measure(database, all, many, searches / 10);
  const Figures large = measure(database, all, many, searches);
  print(many, large, size());
  std::printf("\np99 over a million is %.1f times that over a thousand; the goal is below %.0f.\n",
              large.p99 / small.p99, goal);
  return large.p99 < goal * small.p99 ? 0 : 1;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_search DIRECTORY [SEARCHES]\n");
    return 2;
  }
  return berth::run(argv[1], argc > 2 ? std::stoi(argv[2]) : 20'000);
}
