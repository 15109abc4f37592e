#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/db/database.h"

// Finding people by a part of their username.
namespace berth::user_search {

inline constexpr size_t min_query_length = 2;  // characters (specification, "Limits")
inline constexpr size_t max_results = 20;      // the same

struct Found {
  std::string id;
  std::string username;
};
// Users whose name has `query` in it, without regard to case: those whose name begins with it
// first, by name; then the others, by what follows from the match on. Neither the user himself nor
// anybody on either side of a block with him, nor suspended or deleted accounts. Throws
// query_too_short.
//
// Both come from ranges of an index, so that it takes as long whatever number of users there is. It
// looks at a bounded number of rows; somebody among whose first thousands of matches nearly all
// have blocked him may not find all.
std::vector<Found> search(db::Tx& tx, const std::string& user_id, std::string_view query);

// The account of this name, without regard to case.
std::optional<Found> find(db::Tx& tx, std::string_view username);

}  // namespace berth::user_search
