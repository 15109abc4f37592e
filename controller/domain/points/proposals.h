#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// What admins give back and take back: up to an amount of points a day each of them alone, and
// above it only two of them together. Those who propose and confirm are persons, known by their
// login in the console. The internal secret is nobody by name: what it proposes needs two persons,
// and it confirms nothing (docs/decisions/points.md). This module keeps who has proposed and
// confirmed what; the caller moves the points, in the same write. The functions throw berth::Error.
namespace berth::proposals {

// When a proposal is closed that nobody has confirmed.
inline constexpr Duration open_for = std::chrono::days(7);
// How long it is kept after that, and so is what an admin did alone.
inline constexpr Duration decided_kept_for = std::chrono::days(400);

enum class Kind { refund, deployment_refund, claw_back };
constexpr auto texts_of(Kind) {
  return EnumTexts<Kind::claw_back>{"refund", "deployment_refund", "claw_back"};
}

// `alone`: done at once, by one admin.
enum class Status { alone, open, confirmed, rejected, expired };
constexpr auto texts_of(Status) {
  return EnumTexts<Status::expired>{"alone", "open", "confirmed", "rejected", "expired"};
}

struct Order {
  Kind kind = Kind::refund;
  std::string subject_id;                      // of a spend, a deployment or a transaction
  std::optional<std::string> user_id = {};     // whom it is about, if that is a user
  std::optional<std::string> request_id = {};  // the refund request that it answers
  std::int64_t amount = 0;                     // 1 to ledger::max_points
  std::string reason;
};
struct Proposal {
  std::string id;
  Order order;
  Status status = Status::open;
  std::string proposed_by;                 // as in the audit log
  std::optional<std::string> seconded_by;  // the first of two persons, if the secret has proposed
  std::optional<std::string> decided_by;
  Instant inserted_at;
  std::optional<Instant> decided_at;
};

// Returns the id of the user behind an admin's name in the audit log; empty for the internal
// secret.
std::string person_of(std::string_view admin);

// Returns nothing if the admin may do it alone, and counts it: at most `most_alone` points on a UTC
// day by each person, and by the internal secret altogether. Otherwise stores a proposal, and
// returns it. Needs a serializable write.
std::optional<Proposal> propose(db::Tx& tx, const Order& order, const std::string& admin,
                                std::int64_t most_alone);

// Confirms it. The caller then does what it says if it is `confirmed`; it stays `open` if one more
// person has to confirm it. Needs a serializable write. Throws not_found; invalid_state if it isn't
// open or its time is over; forbidden for the internal secret, and for whoever has proposed or
// confirmed it already.
Proposal confirm(db::Tx& tx, const std::string& id, const std::string& admin);
// Ends it without effect. Every admin may, the one who has proposed it, too. Throws like confirm(),
// but never forbidden.
Proposal reject(db::Tx& tx, const std::string& id, const std::string& admin);

// Those with the status, or with any, newest first.
Page<Proposal> list(db::Tx& tx, std::optional<Status> status, const PageRequest& page);
// How many are open, at most `most`.
std::int64_t count_open(db::Tx& tx, std::int64_t most);

// Empties the reasons of those that are about a deleted user, at most `limit`.
int erase_of_user(db::Tx& tx, const std::string& user_id, int limit);

// Whether there is something to do for tidy(), which closes proposals whose time is over and
// removes old ones, at most `limit` of both. Returns how many.
bool is_anything_due(db::Tx& tx);
int tidy(db::Tx& tx, int limit);

}  // namespace berth::proposals
