#pragma once

#include <optional>
#include <span>
#include <string>

#include "controller/db/database.h"

// Helps modules to empty what a deleted account has left, in batches that hold up other writes for
// milliseconds only.
namespace berth::eraser {

// Erases at most `limit` rows that belong to `id`, a user or a thing of theirs, and returns how
// many. A row that was erased isn't found again. Fewer than `limit` means that no row is left.
using Erase = int (*)(db::Tx& tx, const std::string& id, int limit);
// Calls the functions in `all`, in order, until `limit` rows are erased. Returns how many were.
int run(db::Tx& tx, std::span<const Erase> all, const std::string& id, int limit);

// Things of which a user may have any number, each with rows that refer to it.
struct Things {
  // One of the user's things that isn't emptied yet and can be.
  std::optional<std::string> (*next)(db::Tx& tx, const std::string& user_id);
  std::span<const Erase> parts;  // the functions that erase the rows that refer to a thing
  // Empties the thing itself, after its parts; returns how many rows it changed. next() must not
  // find the thing afterwards.
  int (*empty)(db::Tx& tx, const std::string& id);
};
// Erases about `limit` rows of the user's things. Returns how many; fewer than `limit` if next()
// finds no other thing.
int run(db::Tx& tx, const Things& things, const std::string& user_id, int limit);

}  // namespace berth::eraser
