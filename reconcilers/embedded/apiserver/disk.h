#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reconcilers/embedded/apiserver/key.h"

namespace SQLite {
class Database;
}

namespace berth::embedded {

// Where a cluster's objects are kept, so that they outlive the process.
struct DiskOptions {
  std::filesystem::path file;
  // Encrypt and decrypt the objects that are secret; opening returns nothing if it can't.
  std::function<std::string(const std::string&)> seal;
  std::function<std::optional<std::string>(const std::string&)> open;
};

// The objects of a Store in a SQLite file, as etcd keeps those of a cluster. Changes are collected
// and written by flush() in one transaction, of which a crash of the process loses nothing, and one
// of the machine the last moments at most. A file that is damaged, of another version, or sealed
// with another key is thrown away: berth makes the objects again from its database.
//
// The caller must hold the store's mutex.
class Disk {
 public:
  struct Object {
    Key key;
    std::string text;  // JSON
  };
  struct Content {
    std::vector<Object> objects;
    std::uint64_t version = 0;  // of the last change
  };

  // Throws std::exception if the file can't be opened or made, such as without room for it.
  explicit Disk(DiskOptions options);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  Content load();
  // Without a text, the object was deleted.
  void change(const Key& key, std::optional<std::string> text, std::uint64_t version);
  // Writes what was changed. Returns false if that isn't possible; the changes are kept for the
  // next time then.
  bool flush();
  // As flush(), and returns only when the disk itself has all that was written, so that even a
  // power cut loses none of it. Takes as long as the disk does.
  bool sync();

 private:
  bool try_to_write();
  void open();
  void begin_anew(const std::string& why);
  void write();

  const DiskOptions options_;
  std::unique_ptr<SQLite::Database> database_;
  std::map<Key, std::optional<std::string>> pending_;
  std::uint64_t version_ = 0;
  bool failing_ = false;
};

}  // namespace berth::embedded
