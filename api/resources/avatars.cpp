// Handlers of avatars, which say how users look in all apps.
#include "api/resources/avatars.h"

#include <algorithm>

#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/items/avatars.h"
#include "controller/domain/social/blocks.h"

namespace berth::api {
namespace {

using avatars::Avatar;

Reply envelope(const Avatar& avatar) {
  json body = encode_avatar(avatar);
  body["avatar"] = encode_avatar(avatar);
  return {.body = std::move(body)};
}

int depth_of(const json& value) {
  int deepest = 0;
  if (!value.is_structured()) return deepest;
  for (const json& inner : value) deepest = std::max(deepest, depth_of(inner));
  return deepest + 1;
}

avatars::Change decode(const Call& call, const Services& services) {
  avatars::Change change = {.user_id = call.user->id, .display_name = {}, .appearance = {}};
  if (call.body.contains("display_name"))
    change.display_name = text_or_nothing(call.body, "display_name");
  if (const auto name = change.display_name.value_or(std::nullopt))
    accounts::check_name("display_name", *name, services.rules.reserved_names);
  if (const auto appearance = call.body.find("appearance"); appearance != call.body.end()) {
    if (depth_of(*appearance) > avatars::max_appearance_depth)
      throw invalid_field("appearance", "must be nested at most 8 levels deep");
    change.appearance = appearance->dump();
  }
  return change;
}

// The first look creates the avatar; later ones don't write.
Reply look_at(const Services& services, const std::string& user_id) {
  const auto there = services.db.read([&](db::Tx& tx) { return avatars::find(tx, user_id); });
  if (there) return envelope(*there);
  return envelope(
      services.db.write([&](db::Tx& tx) { return avatars::find_or_make(tx, user_id); }));
}

Reply my_avatar(const Call& call, const Services& services) {
  return look_at(services, call.user->id);
}

Reply avatar_of(const Call& call, const Services& services) {
  services.db.read(
      [&](db::Tx& tx) { blocks::require_visible(tx, call.user->id, call.id("user_id")); });
  return look_at(services, call.id("user_id"));
}

Reply change_avatar(db::Tx& tx, const Call& call, const Services& services) {
  return envelope(avatars::change(tx, decode(call, services)));
}

Reply equip_avatar(db::Tx& tx, const Call& call, const Services&) {
  return envelope(avatars::equip(tx, call.user->id, call.body.at("item_ids")));
}

constexpr Route rows[] = {
    {.request = "GET /api/avatars/me",
     .name = "myAvatar",
     .tag = "Avatars",
     .summary = "Show the caller's avatar, which is created if there is none",
     .text = "Returns the caller's avatar. An empty one is created at the first call.",
     .guards = {with_pages_of_apps(jwt_or_play_session()), account_reads},
     .stores = Stores::account,
     .answer = {200, "AvatarEnvelope"},
     .served_by = {.page = "/console/extras"},
     .run = FreeHandler{my_avatar}},
    {.request = "PUT /api/avatars/me",
     .name = "changeAvatar",
     .tag = "Avatars",
     .summary = "Change the avatar's name and appearance; fields that aren't sent stay",
     .text = "Changes the name or the appearance that all apps show. The appearance is replaced as "
             "a whole.",
     .guards = {with_pages_of_apps(jwt_or_play_session()), account_writes},
     .stores = Stores::account,
     .body = {"AvatarUpdate"},
     .answer = {200, "AvatarEnvelope"},
     .served_by = {.page = "/console/extras"},
     .run = WriteHandler{change_avatar}},
    {.request = "GET /api/avatars/{user_id}",
     .name = "avatarOf",
     .tag = "Avatars",
     .summary = "Show another user's avatar, which is created if there is none",
     .text = "Returns the avatar of a user. Users with a block between them and the caller aren't "
             "found.",
     .guards = {with_pages_of_apps(jwt_or_play_session()), account_reads},
     .stores = Stores::account,
     .in_path = {&user_in_path},
     .answer = {200, "AvatarEnvelope"},
     .errors = {Code::user_not_found},
     .served_by = {.neither = played_in_games},
     .run = FreeHandler{avatar_of}},
    {.request = "POST /api/avatars/me/equip",
     .name = "equipAvatar",
     .tag = "Avatars",
     .summary = "Put on these items and take off all others",
     .text = "Makes the avatar wear exactly the listed items, which the user must own, at most one "
             "of each category.",
     .guards = {with_pages_of_apps(jwt_or_play_session()), account_writes},
     .stores = Stores::account,
     .body = {"EquipRequest"},
     .answer = {200, "AvatarEnvelope"},
     .served_by = {.page = "/console/extras"},
     .run = WriteHandler{equip_avatar}},
};

}  // namespace

std::span<const Route> avatars_routes() { return rows; }

}  // namespace berth::api
