#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "controller/domain/deployments/usage_history.h"

namespace berth::reconcilers {

// Keeps what deployments used in a SQLite file of its own, so that its commits and those of berth's
// database never wait for each other. They aren't synced to the disk one by one: if the machine
// crashes, the last minutes may be lost. Thread-safe.
class UsageHistory {
 public:
  // Opens or creates the file. One that is damaged is removed and begun anew. Throws
  // SQLite::Exception or std::runtime_error if that is impossible.
  explicit UsageHistory(const std::filesystem::path& file);

  using Samples = std::map<std::string, usage_history::Values>;  // by deployment
  // Stores what was measured during the minute that `at` is in, sums up the quarters of an hour
  // that are over, and deletes what is too old. A minute that is stored already stays as it is.
  // Throws SQLite::Exception; then nothing was changed.
  void add(Instant at, const Samples& samples);

  // See usage_history::Read.
  std::vector<usage_history::Values> read(const usage_history::Wanted& wanted);

 private:
  struct Series {
    std::int64_t number = 0;
    std::int64_t last_day = 0;
  };
  std::int64_t series_of(const std::string& deployment, std::int64_t day);
  void insert(std::int64_t minute, const Samples& samples);
  void sum_up(std::int64_t slot);
  void forget(std::int64_t slot);

  std::mutex writing_;
  std::mutex reading_;
  SQLite::Database writer_;
  SQLite::Database reader_;
  // The rest is guarded by writing_.
  std::map<std::string, Series, std::less<>> series_;
  std::int64_t summed_up_ = 0;  // the quarters of an hour before this one are summed up
};

}  // namespace berth::reconcilers
