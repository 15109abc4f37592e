#include "api/resources/shared.h"
#include "api/resources/users/handlers.h"

namespace berth::api {
namespace {

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
