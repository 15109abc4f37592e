// Friends.
#include "api/resources/friends/handlers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "controller/domain/social/friends.h"
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

}  // namespace

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

}  // namespace berth::api
