#include "api/resources/routes.h"

#include "api/resources/users/handlers.h"

namespace berth::api {

std::vector<Route> users_routes() {
  const Access user_or_app = jwt_or_play_session();
  return {
      {.method = "GET",
       .path = "/api/social/users/search",
       .name = "searchUsers",
       .tag = "Social",
       .summary = "Find users by a part of their username; names that begin with it come first",
       .access = session(),
       .rate = account_reads,
       .query = {{.name = "q",
                  .type = "string",
                  .description = "At least 2 characters of a username, in upper or lower case.",
                  .required = true,
                  .example = "ad",
                  .if_missing = Code::query_too_short}},
       .answer = {200, "UserSearch"},
       .errors = {Code::query_too_short},
       .run = ReadHandler{search_users}},
      {.method = "GET",
       .path = "/api/social/users/{id}",
       .name = "getUser",
       .tag = "Social",
       .summary = "Show another user's public profile",
       .access = user_or_app,
       .rate = account_reads,
       .answer = {200, "UserProfile"},
       .errors = {Code::user_not_found},
       .run = ReadHandler{get_user}},
  };
}

}  // namespace berth::api
