#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/kernel/audit.h"

// Rows of audit_log, for audit.cpp and audit_chain.cpp.
namespace berth::audit {

// Needs all columns of the entry.
Entry entry_of(const db::Query& row);

// An entry with its columns for the chain.
struct Stored {
  Entry entry;
  std::optional<std::string> salt = {};
  std::optional<std::string> commitment = {};  // of an entry of which something was erased
  std::string chain = {};
};
// Reads all rows of the statement.
inline std::vector<Stored> read_stored(db::Query rows) {
  std::vector<Stored> all;
  while (rows.next()) {
    Stored one = {.entry = entry_of(rows)};
    one.salt = rows.text_or_null("salt");
    one.commitment = rows.text_or_null("commitment");
    one.chain = rows.text("chain");
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace berth::audit
