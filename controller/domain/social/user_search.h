#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/db/database.h"

// Finds users by part of their username.
namespace berth::user_search {

inline constexpr size_t min_query_length = 2;  // in characters (specification, section "Limits")
inline constexpr size_t max_results = 20;      // specification, section "Limits"

struct Found {
  std::string id;
  std::string username;
};
// Finds users whose username contains `query`, regardless of case. Names that begin with it come
// first, sorted by name; then the others, sorted by the part of the name from the match on. The
// user, users with a block between them and the user, and suspended or deleted accounts are left
// out. Throws query_too_short.
//
// Both groups come from ranges of an index, so a search takes the same time whatever number of
// users there is. The number of rows that it reads is limited: if almost all of the first few
// thousand matches have a block with the user, further matches may be missing.
std::vector<Found> search(db::Tx& tx, const std::string& user_id, std::string_view query);

// The account with this username, regardless of case.
std::optional<Found> find(db::Tx& tx, std::string_view username);

}  // namespace berth::user_search
