#include "api/resources/friends/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

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
     .text = "Asks a user, by id or name, to become friends. They find it among their incoming "
             "requests.",
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
     .summary = "List the friend requests that wait for an answer",
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
     .text = "Takes back a request that waits. Only the user who sent it may do so.",
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
     .text = "Ends the friendship for both. They can become friends again by a new request.",
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
