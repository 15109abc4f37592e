#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "berthd/backup/maker.h"
#include "berthd/backup/restore.h"
#include "berthd/data_dir.h"
#include "controller/base/sealed_file.h"
#include "controller/db/sqlite/database.h"
#include "tests/db/rows.h"
#include "tests/store.h"
#include "tests/temp_dir.h"

// A data directory in use, archives of it, and directories to restore them to.
namespace berth::test {

inline const std::string passphrase = "correct horse battery staple";
inline const backup::Progress silent = [](std::uint64_t, std::uint64_t) {};

class ArchiveWorld {
  // Tests make and open dozens of archives; those of sealed_file have the usual work.
  static constexpr sealed_file::Work little_work = {.kib = 64, .passes = 1, .lanes = 1};

 public:
  ArchiveWorld() {
    provide_sqlite_file(data.database_file());
    database.emplace(data.database_file(), clock);
  }

  TempDir dir;
  Clock clock;
  DataDir data{dir / "data"};
  Keys keys = data.keys();
  std::optional<db::sqlite::Database> database;
  backup::Maker maker{data, clock, "1.2.3", backup::file_of(data)};

  void fill(int rows) {
    database->write([&](db::Tx& tx) {
      for (int i = 0; i < rows; ++i) put(tx, "row " + std::to_string(i), std::string(500, 'v'));
    });
  }
  // Returns a whole archive as text.
  std::string archive() {
    const auto opening = sealed_file::new_file(passphrase, little_work);
    std::string text = opening.header;
    const auto outgoing = maker.begin(opening.key);
    const auto sink = [&](std::string_view bytes) { text += bytes; };
    while (outgoing->step(sink)) {
    }
    return text;
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(dir / name, std::ios::binary) << text;
    return dir / name;
  }
  std::string read(const std::filesystem::path& file) const {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::filesystem::path target() const { return dir / "restored"; }
  // Restores the archive. Returns "" if that succeeds, and else the error's message.
  std::string restore(const std::string& text, const std::string& with = passphrase) const {
    try {
      backup::restore(write("archive", text), with, target(), silent);
      return "";
    } catch (const std::exception& failure) {
      return failure.what();
    }
  }
  Rows restored_rows() const { return seen_from_outside(target() / database_name); }
};

}  // namespace berth::test
