// Avatars, which show users in every app.
#include "api/resources/avatars/handlers.h"

#include <algorithm>

#include "api/gate/encode.h"
#include "api/resources/avatars/encode.h"
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
    accounts::check_name("display_name", *name, services.reserved_names);
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

}  // namespace

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

}  // namespace berth::api
