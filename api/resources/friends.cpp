// Friends and requests for friendship.
#include "controller/domain/social/friends.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/social/user_search.h"

namespace berth::api {
namespace {

Reply friendship(const friends::Friendship& friendship, int status = 200) {
  return {.status = status,
          .body = {{"friendship_id", friendship.id}, {"status", friendship.status}}};
}

// Returns the user that the body names by id or by name; it must have exactly one of the two.
std::string asked_user(db::Tx& tx, const json& body) {
  const auto id = text_or_nothing(body, "user_id");
  const auto username = text_or_nothing(body, "username");
  if (id.has_value() == username.has_value())
    throw invalid_field("user_id", "is required, or username, but not both");
  if (id) return *id;
  const auto found = user_search::find(tx, *username);
  if (!found) throw Error(Code::user_not_found, "there is no such user");
  return found->id;
}

friends::Direction direction(const Call& call) {
  return enum_query<friends::Direction>(call, "direction").value_or(friends::Direction::incoming);
}

Reply list_friends(db::Tx& tx, const Call& call, const Services&) {
  // An app that acts for the user isn't told the email addresses of their friends.
  const bool by_user_directly = !call.play;
  return {.body = encode_page("friends", friends::list(tx, call.user->id, call.page()),
                              [&](const friends::Friend& other) {
                                return json{{"id", other.user_id},
                                            {"username", other.username},
                                            {"email",
                                             by_user_directly ? json(other.email) : json(nullptr)}};
                              })};
}

Reply request_friend(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::ask(tx, call.user->id, asked_user(tx, call.body)), 201);
}

Reply list_friend_requests(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page(
              "requests", friends::list_requests(tx, call.user->id, direction(call), call.page()),
              [](const friends::Request& request) {
                return json{{"id", request.user_id},
                            {"friendship_id", request.friendship_id},
                            {"username", request.username},
                            {"sent_at", to_iso8601(request.sent_at)}};
              })};
}

Reply accept_friend(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::accept(tx, call.user->id, call.id("friendship_id")));
}

Reply reject_friend(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::reject(tx, call.user->id, call.id("friendship_id")));
}

Reply withdraw_friend_request(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::withdraw(tx, call.user->id, call.id("friendship_id")));
}

Reply remove_friend(db::Tx& tx, const Call& call, const Services&) {
  return friendship(friends::end(tx, call.user->id, call.id("user_id")));
}

constexpr Access user_or_app = with_pages_of_apps(jwt_or_play_session());
constexpr Errors decisions = {Code::friendship_not_found, Code::forbidden, Code::invalid_state};

constexpr Param direction_query[] = {
    {.name = "direction",
     .description = "The direction of the requests: incoming (the default) or outgoing.",
     .example = "incoming"}};

constexpr Placeholder friendship_in_path = {"FriendshipId", "The id of the friendship.",
                                            "01936f5e-7c1a-7000-8000-00000000000a"};

constexpr Route rows[] = {
    {.request = "GET /api/social/friends",
     .name = "listFriends",
     .tag = "Social",
     .summary = "List the caller's friends",
     .text = "Lists the caller's friends by username. Apps don't see email addresses.",
     .guards = {user_or_app, account_reads},
     .paged = true,
     .answer = {200, "FriendList"},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{list_friends}},
    {.request = "POST /api/social/friends/requests",
     .name = "requestFriend",
     .tag = "Social",
     .summary = "Send a friend request; if the other user has sent one, this accepts it",
     .text = "Asks a user, by id or name, to become friends. The request is among the incoming "
             "ones of that user.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::people,
     .body = {"FriendRequest"},
     .answer = {201, "FriendshipResponse"},
     .errors = {Code::user_not_found, Code::invalid_state},
     .idempotency = Idempotency::kept,
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{request_friend}},
    {.request = "GET /api/social/friends/requests",
     .name = "listFriendRequests",
     .tag = "Social",
     .summary = "List the friend requests that are waiting for an answer",
     .text = "Lists the requests to the caller, or those from the caller, newest first.",
     .guards = {user_or_app, account_reads},
     .paged = true,
     .query = direction_query,
     .answer = {200, "PendingFriendRequestList"},
     .served_by = {.neither = played_in_games},
     .run = ReadHandler{list_friend_requests}},
    {.request = "POST /api/social/friends/requests/{friendship_id}/accept",
     .name = "acceptFriend",
     .tag = "Social",
     .summary = "Accept a friend request",
     .text = "Makes the two users friends. Only the user who was asked may accept.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::people,
     .in_path = {&friendship_in_path},
     .answer = {200, "FriendshipResponse"},
     .errors = decisions,
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{accept_friend}},
    {.request = "POST /api/social/friends/requests/{friendship_id}/reject",
     .name = "rejectFriend",
     .tag = "Social",
     .summary = "Reject a friend request",
     .text = "Refuses the request. Only the user who was asked may do so; they may be asked again.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::nothing,
     .in_path = {&friendship_in_path},
     .answer = {200, "FriendshipResponse"},
     .errors = decisions,
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{reject_friend}},
    {.request = "DELETE /api/social/friends/requests/{friendship_id}",
     .name = "withdrawFriendRequest",
     .tag = "Social",
     .summary = "Withdraw a friend request that the caller sent",
     .text = "Takes back a request that is waiting. Only the user who sent it may do so.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::nothing,
     .in_path = {&friendship_in_path},
     .answer = {200, "FriendshipResponse"},
     .errors = decisions,
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{withdraw_friend_request}},
    {.request = "DELETE /api/social/friends/{user_id}",
     .name = "removeFriend",
     .tag = "Social",
     .summary = "End a friendship",
     .text = "Ends the friendship for both. A new request can make them friends again.",
     .guards = {user_or_app, account_writes},
     .stores = Stores::nothing,
     .in_path = {&user_in_path},
     .answer = {200, "FriendshipResponse"},
     .errors = {Code::friendship_not_found},
     .served_by = {.neither = played_in_games},
     .run = WriteHandler{remove_friend}},
};

}  // namespace

std::span<const Route> friends_routes() { return rows; }

}  // namespace berth::api
