#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "controller/db/database.h"

// Rows for tests of the database: the table `meta`, a text for each key.
namespace berth::test {

using Rows = std::map<std::string, std::string>;

inline void put(db::Tx& tx, const std::string& key, const std::string& value = "x") {
  tx.execute(
      "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = "
      "excluded.value",
      key, value);
}
inline void remove(db::Tx& tx, const std::string& key) {
  tx.execute("DELETE FROM meta WHERE key = $1", key);
}
inline bool has(db::Tx& tx, const std::string& key) {
  return tx.number("SELECT count(*) FROM meta WHERE key = $1", key) == 1;
}
inline Rows all(db::Tx& tx) {
  Rows rows;
  auto query = tx.query("SELECT key, value FROM meta WHERE key <> 'write_probe'");
  while (query.next()) rows[query.text("key")] = query.text("value");
  return rows;
}
// Returns the rows that another process would see, through a connection of its own.
inline Rows seen_from_outside(const std::filesystem::path& file) {
  SQLite::Database other(file.string(), SQLite::OPEN_READWRITE);
  SQLite::Statement query(other, "SELECT key, value FROM meta WHERE key <> 'write_probe'");
  Rows rows;
  while (query.executeStep()) rows[query.getColumn(0).getString()] = query.getColumn(1).getString();
  return rows;
}

}  // namespace berth::test
