#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "controller/db/database.h"

namespace berth::simulate {

// The store of the simulated process on one of the engines, and the faults of what is below it: a
// disk, or a server and the connections to it. Only one thread may use it.
class Engine {
 public:
  // Returns a number from 0 up to, but not including, `bound`, which follows from the seed.
  using Draw = std::function<std::uint64_t(std::uint64_t bound)>;

  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Opens what the process before this one has left, which ends without notice and with it every
  // fault; for the first process, an empty store. What the call before returned is gone.
  virtual db::Database& open(const Clock& clock) = 0;

  // Now and then prepares a fault, which may come with one of the next operations.
  virtual void draw_fault(const Draw& draw) = 0;
  virtual void heal() = 0;
  // Whether a fault has come for which writes may be refused until heal().
  virtual bool is_failing() const = 0;

  // For the write that was just refused: whether it may be found stored all the same. `has_run`
  // says whether its work came to an end.
  virtual bool is_in_doubt(bool has_run) = 0;
  // Waits until each reader sees whether a write in doubt is stored. Returns false if only the next
  // process does.
  virtual bool wait_for_outcome() = 0;
};

// One on SQLite, with a disk that fails (tests/db/fault_vfs.h), and one on PostgreSQL, whose server
// is that of tests/store.h, and where writes collide and connections are cut. `directory` must be
// empty and used by nobody else. A process can have only one at a time, because the VFS has a fixed
// name.
std::unique_ptr<Engine> sqlite_engine(const std::filesystem::path& directory);
std::unique_ptr<Engine> postgres_engine(const std::filesystem::path& directory);

}  // namespace berth::simulate
