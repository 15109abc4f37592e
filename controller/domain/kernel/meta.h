#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/db/database.h"

// Facts about the database as a whole, such as its id on the clusters that it uses: texts by key.
namespace berth::meta {

// Returns nothing if nothing is stored under the key.
std::optional<std::string> find(db::Tx& tx, std::string_view key);
// Stores the value under the key, in place of an earlier one.
void put(db::Tx& tx, std::string_view key, const std::string& value);

}  // namespace berth::meta
