// Users as others see them.
#include "api/resources/users/handlers.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/encode_user.h"
#include "api/resources/avatars/encode.h"
#include "api/resources/users/encode_profile.h"
#include "controller/domain/social/blocks.h"
#include "controller/domain/social/friends.h"
#include "controller/domain/social/user_search.h"

namespace berth::api {

json encode_profile(db::Tx& tx, const accounts::User& user,
                    const std::optional<std::string>& viewer_id) {
  const auto known = viewer_id ? friends::between(tx, *viewer_id, user.id) : std::nullopt;
  const auto avatar = avatars::find(tx, user.id);
  return {{"id", user.id},
          {"username", user.username},
          {"tier", user.tier},
          {"tier_emoji", tier_emoji(user.tier)},
          {"avatar", avatar ? encode_avatar(*avatar) : json(nullptr)},
          {"created_at", to_iso8601(user.created_at)},
          {"friendship_status", known ? json(known->status) : json(nullptr)},
          {"friendship_id", known ? json(known->id) : json(nullptr)}};
}

Reply search_users(db::Tx& tx, const Call& call, const Services&) {
  json users = json::array();
  for (const auto& found : user_search::search(tx, call.user->id, call.query("q").value_or("")))
    users.push_back({{"id", found.id}, {"username", found.username}});
  return {.body = {{"users", std::move(users)}}};
}

Reply get_user(db::Tx& tx, const Call& call, const Services&) {
  blocks::require_visible(tx, call.user->id, call.id());
  return {.body = {{"user", encode_profile(tx, *accounts::find(tx, call.id()), call.user->id)}}};
}

}  // namespace berth::api
