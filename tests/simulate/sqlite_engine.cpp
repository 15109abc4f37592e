#include <sqlite3.h>

#include <iterator>
#include <optional>

#include "controller/db/sqlite/database.h"
#include "tests/db/fault_vfs.h"
#include "tests/simulate/engine.h"
#include "tests/store.h"

namespace berth::simulate {
namespace {

constexpr std::uint64_t steps_per_fault = 12;
constexpr std::uint64_t most_operations = 8;  // until a fault comes

class SqliteEngine final : public Engine {
 public:
  explicit SqliteEngine(std::filesystem::path directory) : directory_(std::move(directory)) {}
  ~SqliteEngine() override {
    disk_.heal();
    database_.reset();
  }

  // What a process that ends without notice leaves are the files as they are.
  db::Database& open(const Clock& clock) override {
    const auto before = file();
    if (database_) {
      ++incarnation_;
      for (const char* suffix : {"", "-wal"})
        if (std::filesystem::exists(before.string() + suffix))
          std::filesystem::copy_file(before.string() + suffix, file().string() + suffix);
      disk_.heal();
    } else {
      test::provide_sqlite_file(file());  // all migrations would take a third of a seed's time
    }
    database_.emplace(file(), clock, db::sqlite::Options{.readers = 1, .vfs = disk_.name()});
    if (before != file())
      for (const char* suffix : {"", "-wal", "-shm"})
        std::filesystem::remove(before.string() + suffix);
    return *database_;
  }

  void draw_fault(const Draw& draw) override {
    if (draw(steps_per_fault) != 0) return;
    constexpr std::pair<test::FaultVfs::Operation, int> faults[] = {
        {test::FaultVfs::Operation::write, SQLITE_FULL},
        {test::FaultVfs::Operation::write, SQLITE_IOERR_WRITE},
        {test::FaultVfs::Operation::sync, SQLITE_IOERR_FSYNC}};
    const auto& [operation, code] = faults[draw(std::size(faults))];
    const int nth = int(1 + draw(most_operations));
    disk_.fail(
        operation, nth, code,
        draw(2) == 0 ? test::FaultVfs::Lasting::once : test::FaultVfs::Lasting::until_healed);
  }

  void heal() override { disk_.heal(); }
  bool is_failing() const override { return disk_.failures() > 0; }

  // A failed commit may be found in full after a kill, if the disk was too broken to overwrite it.
  bool is_in_doubt(bool has_run) override { return has_run; }
  bool wait_for_outcome() override { return false; }

 private:
  std::filesystem::path file() const {
    return directory_ / ("berth" + std::to_string(incarnation_) + ".db");
  }

  const std::filesystem::path directory_;
  int incarnation_ = 0;
  test::FaultVfs disk_;
  std::optional<db::sqlite::Database> database_;
};

}  // namespace

std::unique_ptr<Engine> sqlite_engine(const std::filesystem::path& directory) {
  return std::make_unique<SqliteEngine>(directory);
}

}  // namespace berth::simulate
