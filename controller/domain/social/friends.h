#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// Friendships between two accounts, and their transitions:
//
//   (none, rejected, removed) --request------------> pending    a new friendship, with a new id
//   pending  --request by the other user----------> accepted   because both want it
//   pending  --accept, by the recipient-----------> accepted
//   pending  --reject, by the recipient-----------> rejected
//   pending  --withdraw, by the requester---------> removed
//   accepted --end, by either user----------------> removed
//   pending, accepted --block, by either user-----> removed
//
// There are no other transitions. Each is a conditional UPDATE whose row count decides whether it
// happened. The functions throw berth::Error; users with a block between them can't see each other
// (blocks.h).
namespace berth::friends {

// The limit for one user. It exists because lists, pages and checks go through all friends.
inline constexpr int max_friends = 2'000;
// The unanswered requests that one user may have sent, so that nobody sends requests to everybody.
inline constexpr int max_open_requests = 500;

enum class Status { pending, accepted, rejected, removed };
constexpr auto texts_of(Status) {
  return EnumTexts<Status::removed>{"pending", "accepted", "rejected", "removed"};
}

struct Friendship {
  std::string id;
  Status status = Status::pending;
};

// Requests a friendship; if the other user has requested it already, accepts that request instead.
// Throws user_not_found, also if there is a block between the two; validation_failed for oneself;
// invalid_state if the user has already requested it, if the two are friends, or if a limit is
// reached.
Friendship ask(db::Tx& tx, const std::string& user_id, const std::string& other_id);
// Each of these throws friendship_not_found if the user isn't one of the two, forbidden if the
// decision is up to the other user, and invalid_state if the friendship isn't pending or, for
// accept(), if one of the two has max_friends friends.
Friendship accept(db::Tx& tx, const std::string& user_id, const std::string& friendship_id);
Friendship reject(db::Tx& tx, const std::string& user_id, const std::string& friendship_id);
Friendship withdraw(db::Tx& tx, const std::string& user_id, const std::string& friendship_id);
// Throws friendship_not_found if the two aren't friends.
Friendship end(db::Tx& tx, const std::string& user_id, const std::string& other_id);

// Ends a friendship or request between the two, if there is one; called when a user is blocked.
void end_between(db::Tx& tx, const std::string& one, const std::string& other);

// The latest friendship between the two, whoever requested it; nothing if there never was one.
std::optional<Friendship> between(db::Tx& tx, const std::string& one, const std::string& other);

struct Friend {
  std::string user_id;
  std::string username;
  std::string email;
};
// The user's friends, sorted by username.
Page<Friend> list(db::Tx& tx, const std::string& user_id, const PageRequest& page);

enum class Direction { incoming, outgoing };
constexpr auto texts_of(Direction) {
  return EnumTexts<Direction::outgoing>{"incoming", "outgoing"};
}
struct Request {
  std::string friendship_id;
  std::string user_id;  // the other user
  std::string username;
  Instant sent_at;
};
// The pending requests, newest first.
Page<Request> list_requests(db::Tx& tx, const std::string& user_id, Direction direction,
                            const PageRequest& page);

}  // namespace berth::friends
