#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// Friendships between two accounts.
//
//   (none, rejected, removed) --ask--> pending      a new friendship, with an id of its own
//   pending  --the other side asks too--> accepted  what both want needs nobody's click
//   pending  --accept, by who was asked--> accepted
//   pending  --reject, by who was asked--> rejected
//   pending  --withdraw, by who asked----> removed
//   accepted --end, by either------------> removed
//   pending, accepted --block------------> removed
//
// Nothing else happens: each is one conditional UPDATE whose row count decides. Functions throw
// berth::Error; people who block each other aren't there for one another (blocks.h).
namespace berth::friends {

// Of one user: lists, pages and checks go through them.
inline constexpr int max_friends = 2'000;
// Requests of one user that nobody has answered, so that nobody asks everybody.
inline constexpr int max_open_requests = 500;

enum class Status { pending, accepted, rejected, removed };
std::string_view to_string(Status status);

struct Friendship {
  std::string id;
  Status status = Status::pending;
};

// Throws user_not_found; validation_failed for oneself; invalid_state where the user has asked
// already, they are friends, or a limit is reached.
Friendship ask(db::Tx& tx, const std::string& user_id, const std::string& other_id);
// Each throws friendship_not_found where the user isn't one of the two, forbidden where it is the
// other side's to decide, invalid_state where it isn't pending, or where one of the two has
// max_friends.
Friendship accept(db::Tx& tx, const std::string& user_id, const std::string& friendship_id);
Friendship reject(db::Tx& tx, const std::string& user_id, const std::string& friendship_id);
Friendship withdraw(db::Tx& tx, const std::string& user_id, const std::string& friendship_id);
// Throws friendship_not_found where they aren't friends.
Friendship end(db::Tx& tx, const std::string& user_id, const std::string& other_id);

// Ends what there is between the two, if anything; for blocks.
void end_between(db::Tx& tx, const std::string& one, const std::string& other);

// What was last between the two, whoever asked; nothing where nobody ever did.
std::optional<Friendship> between(db::Tx& tx, const std::string& one, const std::string& other);

struct Friend {
  std::string user_id;
  std::string username;
  std::string email;
};
// By username.
Page<Friend> list(db::Tx& tx, const std::string& user_id, const PageRequest& page);

enum class Direction { incoming, outgoing };
struct Request {
  std::string friendship_id;
  std::string user_id;  // the other one
  std::string username;
  Instant sent_at;
};
// Pending ones, newest first.
Page<Request> list_requests(db::Tx& tx, const std::string& user_id, Direction direction,
                            const PageRequest& page);

}  // namespace berth::friends
