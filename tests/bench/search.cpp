// Measures user search among a thousand users and among a million; see the script `search`.
//
// usage: bench_search DIRECTORY [SEARCHES]
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller/db/sqlite/database.h"
#include "controller/domain/social/user_search.h"

namespace berth {
namespace {

using std::chrono::steady_clock;

constexpr int few = 1'000;
constexpr int many = 1'000'000;
constexpr double goal = 5.0;  // the greatest factor by which a million may be slower
// Has the length of real ids.
constexpr const char* searcher = "00000000-0000-7000-8000-000000000001";

using Random = std::mt19937_64;

// Returns a name such as people choose: two to four syllables, often followed by a number.
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

// Returns the same names in every run.
std::vector<std::string> names(int count) {
  Random random(42);
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i)
    all.push_back(random_name(random) + "-" + std::to_string(i % 997));
  return all;
}

constexpr const char* add_user =
    "INSERT OR IGNORE INTO users (id, email, email_key, username, username_key, password_hash, "
    "referral_code, registration_number, signup_multiplier, created_at, updated_at) "
    "VALUES (printf('00000000-0000-7000-8000-%012d', $3), $1, $1, $2, $2, '', $1, $3, 1, 0, 0)";

// Adds users as berthd does; triggers write the index.
void add_users(db::Database& database, const std::vector<std::string>& all, int to) {
  database.write([&](db::Tx& tx) {
    for (int i = 0; i < to; ++i) tx.execute(add_user, std::to_string(i), all[size_t(i)], i + 1);
  });
}

// Computes what the triggers write, for all users of a database.
const std::string suffixes =
    "SELECT substr(username_key, position) AS suffix, id, username "
    "FROM users, suffix_positions WHERE position < length(username_key)";

// Throws if the triggers have written something else.
void compare_with_triggers(SQLite::Database& raw) {
  const std::string written = "SELECT suffix, user_id, username FROM username_suffixes";
  const auto count = [&](const std::string& rows) {
    return raw.execAndGet("SELECT count(*) FROM (" + rows + ")").getInt64();
  };
  if (count(written) == 0 || count(suffixes + " EXCEPT " + written) != 0 ||
      count(written + " EXCEPT " + suffixes) != 0)
    throw std::runtime_error("the triggers of username_suffixes write other rows than these");
}

// Adds the same users and the same index as add_users() at once. Row by row, in the order of the
// users, each transaction would write nearly every page of an index of hundreds of megabytes.
void fill(const std::filesystem::path& file, const std::vector<std::string>& all, int from) {
  SQLite::Database raw(file.string(), SQLite::OPEN_READWRITE);
  for (const char* faster : {"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF",
                             "PRAGMA cache_size = -500000"})  // KiB
    SQLite::Statement(raw, faster).executeStep();
  compare_with_triggers(raw);
  const std::string trigger =
      raw.execAndGet("SELECT sql FROM sqlite_master WHERE name = 'username_suffixes_appear'")
          .getString();
  raw.exec("BEGIN");
  raw.exec("DROP TRIGGER username_suffixes_appear");
  SQLite::Statement user(raw, add_user);
  for (size_t i = size_t(from); i < all.size(); ++i) {
    user.bind("$1", std::to_string(i));
    user.bind("$2", all[i]);
    user.bind("$3", std::int64_t(i + 1));
    user.exec();
    user.reset();
  }
  raw.exec("DELETE FROM username_suffixes");
  raw.exec("INSERT INTO username_suffixes (suffix, user_id, username) " + suffixes +
           " ORDER BY suffix, id");
  raw.exec(trigger);
  raw.exec("COMMIT");
}

struct Figures {
  double p50 = 0, p99 = 0, worst = 0;  // in microseconds
  double found = 0;                    // average number of results
};

Figures measure(db::Database& database, const std::vector<std::string>& all, int users,
                int searches) {
  Random random(7);
  std::vector<double> took;
  double found = 0;
  for (int i = 0; i < searches; ++i) {
    // Searches for a part of a user's name, often its beginning, and sometimes for a name that
    // nobody has.
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

Figures measure_warm(db::Database& database, const std::vector<std::string>& all, int users,
                     int searches) {
  measure(database, all, users, searches / 10);
  return measure(database, all, users, searches);
}

int run(const std::filesystem::path& directory, int searches, int users) {
  const Clock clock;
  const std::filesystem::path file = directory / "berth.db";
  const auto all = names(users);
  std::printf(
      "| users | p50 µs | p99 µs | worst µs | found | database MiB |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  Figures small;
  {
    db::sqlite::Database database(file, clock);
    add_users(database, all, few);
    small = measure_warm(database, all, few, searches);
  }
  print(few, small, std::filesystem::file_size(file));
  fill(file, all, few);
  db::sqlite::Database database(file, clock);
  const Figures large = measure_warm(database, all, users, searches);
  print(users, large, std::filesystem::file_size(file));
  std::printf("\np99 over the last is %.1f times that over a thousand; the goal is below %.0f.\n",
              large.p99 / small.p99, goal);
  return users < many || large.p99 < goal * small.p99 ? 0 : 1;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_search DIRECTORY [SEARCHES [USERS]]\n");
    return 2;
  }
  return berth::run(argv[1], argc > 2 ? std::stoi(argv[2]) : 20'000,
                    argc > 3 ? std::stoi(argv[3]) : berth::many);
}
