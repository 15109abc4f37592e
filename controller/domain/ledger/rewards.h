#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/domain/ledger/ledger.h"

// Points that the treasury gives away: for signing up, for referrals, for live sessions, for
// learning, and for viewing ads. They are bonus points (ledger::Mark) until the user has spent
// enough of their own. The treasury only gets points that were minted, so when it is
// empty, rewards end and nothing else does. Configured by the key `rewards`.
namespace berth::rewards {

struct Rules {
  std::int64_t referral = 50;
  std::int64_t session = 1;  // per live minute
  std::int64_t viewer = 1;   // per impression
  // The most points per UTC day: for one user over all apps, for one owner over all their apps, and
  // for everybody together.
  std::int64_t user_daily = 1'000;
  std::int64_t owner_daily = 100'000;
  std::int64_t total_daily = 10'000'000;
};

// What a user has to spend of their own points in other people's apps, in points, before what the
// treasury gave them counts as their own (accounts/bonuses.h).
inline constexpr std::int64_t own_use = 100;

enum class Kind { signup, referral, session, learning, viewer };
constexpr auto texts_of(Kind) {  // the kinds of the ledger transactions
  return EnumTexts<Kind::viewer>{"signup_bonus", "referral_reward", "session_reward",
                                 "learning_reward", "viewer_reward"};
}

struct Reward {
  Kind kind = Kind::session;
  std::string user_id;
  // The owner of the app in which the reward is earned, if there is one. The rewards of all apps of
  // an owner have a common cap.
  std::optional<std::string> app_owner_id;
  std::int64_t amount = 0;  // 0 pays nothing
  std::string memo;
};

enum class Refusal {
  none,
  nothing_due,
  email_not_verified,
  user_cap,
  owner_cap,
  total_cap,
  treasury_empty
};
constexpr auto texts_of(Refusal) {
  return EnumTexts<Refusal::treasury_empty>{"none",          "nothing_due", "email_not_verified",
                                            "user_cap",      "owner_cap",   "total_cap",
                                            "treasury_empty"};
}

// Whether what the treasury gives the user, or an app of theirs, is a bonus.
ledger::Mark mark_of_gift(db::Tx& tx, const std::string& user_id);

struct Outcome {
  std::int64_t points = 0;  // what was paid: the whole amount, or 0
  Refusal refusal = Refusal::none;
};
// Pays the reward without checking caps or the email address; the caller has its own rules. Returns
// false if the treasury has too few points, if the amount is 0, or if it would take the user's
// balance beyond 2^53-1.
bool give(db::Tx& tx, const Reward& reward);

// A reward that pay() pays. Whether it may be paid is read before: the statements are started here
// and sent with the next one (Tx::query_later), so that the treasury's row, which all rewards
// change, is changed late in the transaction. pay() may be called once.
class Due {
 public:
  // The transaction, and what else is given, must live as long as the object.
  Due(db::Tx& tx, const Rules& rules, const Reward& reward);
  // Pays the whole amount from the treasury to the user. Pays nothing if the user's email address
  // isn't verified, a cap or the largest balance leaves no room for the amount (then the refusal is
  // that of the cap), or the treasury has too few points; these cases aren't errors, because the
  // action that earned the reward succeeds all the same. The user's account must exist. The first
  // refusal because of an empty treasury is logged, and so is the first payment after it.
  Outcome pay();

 private:
  struct Cap {
    std::string subject;
    std::int64_t most;
    Refusal refusal;
  };
  static std::vector<Cap> caps_of(const Rules& rules, const Reward& reward);
  Refusal refused_by_caps();
  void count();

  db::Tx& tx_;
  const Reward& reward_;
  std::vector<Cap> caps_;
  db::Query user_, balance_, given_;
};
Outcome pay(db::Tx& tx, const Rules& rules, const Reward& reward);

// The number of rewards that an empty treasury has prevented since the start of the process.
// Thread-safe.
std::uint64_t refused_for_empty_treasury();

// The caps count the current UTC day alone; the counts of the day before are kept as well. Returns
// whether remove_old() would find counts of an earlier day.
bool is_any_old(db::Tx& tx);
// Deletes at most `limit` such counts. Returns their number.
int remove_old(db::Tx& tx, int limit);

}  // namespace berth::rewards
