#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"

// How users look in every app. Each user has one avatar, which is created when it is first looked
// at. The functions throw berth::Error.
namespace berth::avatars {

// Characters (specification, section "Limits").
inline constexpr size_t max_display_name_length = 20;
// The appearance is an app's own description; this leaves room for a few hundred fields.
inline constexpr size_t max_appearance_bytes = 8'192;
inline constexpr int max_appearance_depth = 8;

struct Avatar {
  std::string id;
  std::string user_id;
  std::optional<std::string> display_name;
  std::string appearance = "{}";      // a JSON object
  std::vector<std::string> equipped;  // the ids of cosmetic items, sorted by category
};

// The user's avatar; nothing if nobody has looked at it yet.
std::optional<Avatar> find(db::Tx& tx, const std::string& user_id);
// Like find(), but creates the avatar if there is none; simultaneous calls create one. The user
// must exist.
Avatar find_or_make(db::Tx& tx, const std::string& user_id);

struct Change {
  std::string user_id;
  // If the outer optional is empty, the name stays as it is; if the inner one is, the name is
  // removed.
  std::optional<std::optional<std::string>> display_name;
  std::optional<std::string> appearance;  // a JSON object of at most max_appearance_bytes
};
// Throws validation_failed.
Avatar change(db::Tx& tx, const Change& change);

// Puts on these items and takes off all others. Throws validation_failed if the user doesn't own
// one of them, or if two belong to the same category.
Avatar equip(db::Tx& tx, const std::string& user_id, const std::vector<std::string>& item_ids);

// Deletes the user's avatar and items. Called in the transaction that deletes the account.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::avatars
