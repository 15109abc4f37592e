#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"

// How a user looks in every app: one avatar each, made at the first look. Functions throw
// berth::Error.
namespace berth::avatars {

inline constexpr size_t max_display_name_length = 20;  // characters; specification, "Limits"
// An app's own description of the looks: room for some hundred fields.
inline constexpr size_t max_appearance_bytes = 8'192;
inline constexpr int max_appearance_depth = 8;

struct Avatar {
  std::string id;
  std::string user_id;
  std::optional<std::string> display_name;
  std::string appearance = "{}";      // a JSON object
  std::vector<std::string> equipped;  // ids of cosmetic items, by category
};

// Nothing where nobody has looked yet.
std::optional<Avatar> find(db::Tx& tx, const std::string& user_id);
// Makes the avatar where there is none; looks that come at the same time make one. The user exists.
Avatar find_or_make(db::Tx& tx, const std::string& user_id);

struct Change {
  std::string user_id;
  // Nothing: stays. An inner nothing: without a name.
  std::optional<std::optional<std::string>> display_name;
  std::optional<std::string> appearance;  // a JSON object of max_appearance_bytes at most
};
// Throws validation_failed.
Avatar change(db::Tx& tx, const Change& change);

// Wears these items and no others. Throws validation_failed where one of them isn't the user's own,
// or two are of a category.
Avatar equip(db::Tx& tx, const std::string& user_id, const std::vector<std::string>& item_ids);

// The end of an account: avatar and items go. In the transaction that deletes it.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::avatars
