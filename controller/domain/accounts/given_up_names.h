#pragma once

#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"

// Names of users and apps that were given up, by renaming or deleting, stay reserved for a while:
// whoever takes them could pass for who had them before. Only hashes are stored; the rows are
// removed by the loop of expired rows (expiry.h). Sub-domains aren't among them: they are free at
// once.
namespace berth::accounts {

enum class NameKind { user, app };
constexpr auto texts_of(NameKind) { return EnumTexts<NameKind::app>{"user", "app"}; }

inline constexpr Duration name_reserved_for = std::chrono::days(90);
// For each account and kind: who renames again and again reserves no more names than that. The
// newest ones stay reserved.
inline constexpr int max_given_up_names = 10;

// Reserves the name, which `owner_id` alone may take back.
void give_up(db::Tx& tx, NameKind kind, std::string_view name, const std::string& owner_id);
// Throws validation_failed for the field if the name is reserved for somebody else than `taker`,
// which may be empty. Otherwise it isn't reserved any more: somebody has it.
void take_up(db::Tx& tx, const std::string& field, NameKind kind, std::string_view name,
             const std::string& taker);
// For a deleted account: nobody may take its names back, and nothing says whose they were.
void forget_who_gave_up(db::Tx& tx, const std::string& owner_id);

}  // namespace berth::accounts
