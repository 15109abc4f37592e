#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/keys.h"
#include "controller/domain/kernel/loop.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/points/refunds.h"

// Requests for points that somebody wants back: of a user for a spend, which the app's owner or an
// admin answers, and of an app's owner for what a deployment was charged, which an admin answers.
// Whoever asked gets a letter with the answer, and the app's webhooks get `refund.requested` and
// `refund.answered`. The functions throw berth::Error.
namespace berth::refund_requests {

inline constexpr size_t max_reason_length = 200;  // characters
// How many requests a user may make on a UTC day, withdrawn ones included, and how often the same
// points may be asked for altogether.
inline constexpr int max_per_day = 10;
inline constexpr int max_per_subject = 3;
// When a request is closed that nobody has answered.
inline constexpr Duration open_for = std::chrono::days(30);
// How long a request is kept after it was closed, so that both sides can look at it.
inline constexpr Duration closed_kept_for = std::chrono::days(400);
// An app's owner gets a letter about a request only if there was no other one within this time, so
// that an app's users can't fill their mailbox. The console shows all.
inline constexpr Duration letter_after = std::chrono::hours(24);

enum class Subject { spend, deployment };
constexpr auto texts_of(Subject) { return EnumTexts<Subject::deployment>{"spend", "deployment"}; }

enum class Status { open, approved, rejected, withdrawn, expired };
constexpr auto texts_of(Status) {
  return EnumTexts<Status::expired>{"open", "approved", "rejected", "withdrawn", "expired"};
}

struct Request {
  std::string id;
  Subject subject = Subject::spend;
  std::string subject_id;  // of the spend's transaction, or of the deployment
  std::string user_id;     // who asks
  std::string app_id;      // in which the points were spent, or whose deployment it is
  std::int64_t amount = 0;
  std::string reason;
  Status status = Status::open;
  std::optional<std::string> note = {};       // what the answer says
  std::optional<std::int64_t> refunded = {};  // how many points were given back
  std::optional<points::Initiator> answered_by = {};
  Instant inserted_at = {};
  std::optional<Instant> closed_at = {};
};

// Asks for points of one of the user's spends; without an amount, for all that is left of it.
// Needs a serializable write. Throws not_found if the user has no such spend; refund_exceeds_spend;
// invalid_state if nothing is left of it, its time is over (points::refundable_for), the app was
// deleted, the spend has an open request, or was asked for too often; rate_limited.
Request ask_for_spend(db::Tx& tx, const accounts::User& user, const std::string& spend_id,
                      std::optional<std::int64_t> amount, const std::string& reason,
                      const Keys& keys);
// Asks for points that a deployment of the user's app was charged. The caller has checked that the
// deployment is the user's, and that so many points can be given back. Throws like ask_for_spend().
struct Charged {
  std::string deployment_id;
  std::string app_id;
  std::int64_t amount = 0;
};
Request ask_for_charge(db::Tx& tx, const accounts::User& user, const Charged& charged,
                       const std::string& reason);

// Returns the request. Throws not_found; get_of_app() also if it isn't one of the app's users about
// a spend.
Request get(db::Tx& tx, const std::string& id);
Request get_of_app(db::Tx& tx, const std::string& app_id, const std::string& id);
// Lists, newest first, of those with the status or with any: what the user has asked for, what the
// app's users have asked for, and all.
Page<Request> list_of_user(db::Tx& tx, const std::string& user_id, const PageRequest& page);
Page<Request> list_of_app(db::Tx& tx, const std::string& app_id, std::optional<Status> status,
                          const PageRequest& page);
Page<Request> list_all(db::Tx& tx, std::optional<Status> status, const PageRequest& page);
// How many are open, at most `most`.
std::int64_t count_open(db::Tx& tx, std::int64_t most);

// Withdraws the user's own request. Throws not_found, and invalid_state if it isn't open.
Request withdraw(db::Tx& tx, const std::string& user_id, const std::string& id);

// The answer of the app's owner, or, if `admin` is set, of an admin.
struct Answer {
  std::optional<std::int64_t> amount = {};  // the points that are given back; all if empty
  std::string note = {};                    // at most max_reason_length characters
  std::optional<std::string> admin = {};
};
// The points that the answer gives back. Throws validation_failed if they are more than were asked
// for.
std::int64_t amount_of(const Request& request, const Answer& answer);
// Gives back the points of a spend, and closes the request. Needs a serializable write. Throws
// invalid_state if the request isn't open, and what points::refund() throws.
Request approve_spend(db::Tx& tx, const Request& request, const Answer& answer, const Keys& keys);
// Closes the request as approved, after the caller has given the points back, or as rejected.
// Throws invalid_state if it isn't open.
Request approved(db::Tx& tx, const Request& request, const Answer& answer, const Keys& keys);
Request reject(db::Tx& tx, const Request& request, const Answer& answer, const Keys& keys);
// Throws invalid_state if the request isn't open.
void require_open(const Request& request);
// Points that were given back without an answer to a request for them.
struct GivenBack {
  Subject subject = Subject::spend;
  std::string subject_id;  // as in a request
  std::int64_t amount = 0;
  points::Initiator by = points::Initiator::owner;
};
// Closes the open request for them, if there is one, so that they aren't given back again.
void answered_by_refund(db::Tx& tx, const GivenBack& given, const Keys& keys);

// Erases what a deleted user, or the users of a deleted app, have asked for, at most `limit` rows.
int erase_of_user(db::Tx& tx, const std::string& user_id, int limit);
int erase_of_app(db::Tx& tx, const std::string& app_id, int limit);

// Whether there is something to do for tidy(), which closes requests that nobody has answered in
// time, and removes old ones; at most `limit` of both. Returns how many.
bool is_anything_due(db::Tx& tx);
int tidy(db::Tx& tx, const Keys& keys, int limit);
// Calls tidy(), and the same of proposals.h, once a minute. `keys` has to live as long as the loop.
Loop loop(const Keys& keys);

}  // namespace berth::refund_requests
