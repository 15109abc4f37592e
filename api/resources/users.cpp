// Handlers of users' public profiles and of the search for users.
#include "api/resources/users.h"

#include "api/gate/encode.h"
#include "api/resources/accounts/encode_user.h"
#include "api/resources/avatars.h"
#include "api/resources/shared.h"
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

namespace {

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

constexpr Param search_users_query[] = {
    {.name = "q",
     .description = "At least 2 characters of a username, in upper or lower case.",
     .example = "ad",
     .required = true,
     .if_missing = Code::query_too_short}};

constexpr Access user_or_app = with_pages_of_apps(jwt_or_play_session());

constexpr Route rows[] = {
    {.request = "GET /api/social/users/search",
     .name = "searchUsers",
     .tag = "Social",
     .summary = "Find users by a part of their username; names that begin with it come first",
     .text = "Returns at most 20 users whose names contain q, without those with a block between "
             "them and the caller.",
     .guards = {with_pages_of_apps(session()), account_reads},
     .query = search_users_query,
     .answer = {200, "UserSearch"},
     .errors = {Code::query_too_short},
     .served_by = {.page = "/console/extras"},
     .run = ReadHandler{search_users}},
    {.request = "GET /api/social/users/{id}",
     .name = "getUser",
     .tag = "Social",
     .summary = "Show another user's public profile",
     .text = "Returns the public profile of a user, and the friendship with the caller.",
     .guards = {user_or_app, account_reads},
     .in_path = {&account_in_path},
     .answer = {200, "UserProfile"},
     .errors = {Code::user_not_found},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{get_user}},
};

}  // namespace

std::span<const Route> users_routes() { return rows; }

}  // namespace berth::api
