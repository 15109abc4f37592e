#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

// The economy in plain maps: what every balance has to be and how each request has to end, by the
// rules as they are documented. It knows nothing of SQL, transactions or berthd's code. Times are
// milliseconds since 1970.
namespace berth::simulate {

// How a request ended: "ok", or the name of the error's code.
using Ending = std::string;

struct Model {
  // The rules, with limits so small that a run reaches each of them.
  static constexpr std::int64_t most = (std::int64_t(1) << 53) - 1;
  static constexpr std::int64_t signup_points = 100, signup_daily = 1'500;
  static constexpr std::int64_t first_count = 3, first_multiplier = 5;
  static constexpr std::int64_t early_count = 6, early_multiplier = 2;
  static constexpr std::int64_t referral = 50, referral_use = 100;
  static constexpr std::int64_t own_use = 100, most_received = 500;
  static constexpr std::int64_t user_daily = 60, owner_daily = 100, total_daily = 200;
  static constexpr std::int64_t tier_cost = 100;
  static constexpr std::int64_t hour_cost = 36;  // of the tier that is charged by the hour
  static constexpr std::int64_t most_containers = 4;
  static constexpr std::int64_t viewer_reward = 2;
  static constexpr std::int64_t refund_days = 90;
  static constexpr std::int64_t hour = 3'600'000, day = 24 * hour, period = 30 * day;

  struct User {
    bool verified = false;
    bool deleted = false;
    std::int64_t number = 0;
    std::string referred_by;  // empty if nobody referred them
    std::int64_t referral_spent = 0;
    bool rewarded = false;
    std::int64_t own_spent = 0;  // in the apps of others, while they had a bonus
    // The bonus of others that has reached them since the time.
    std::int64_t bonus_received = 0;
    std::int64_t bonus_since = 0;
  };
  struct Spend {
    std::string user;
    std::string app;
    std::int64_t amount = 0;
    std::int64_t bonus = 0;
    std::int64_t own_use = 0;   // what counted as the user's own use
    std::int64_t referral = 0;  // what counted for their referrer
    std::int64_t refunded = 0;
    std::int64_t at = 0;
  };
  // A transaction whose points an admin may take back: a refund, or a mint for a user or an app.
  struct Gift {
    std::string from;  // empty for a mint
    std::string to;
    std::int64_t amount = 0;
    std::int64_t bonus = 0;  // of a refund
    std::int64_t taken_back = 0;
  };
  // A deployment on the tier that costs points for 30 days.
  struct Paid {
    std::int64_t containers = 1;  // how many it may have at once
    std::int64_t created_at = 0;
    std::int64_t paid_until = 0;
    std::int64_t rate = 0;  // what a whole period cost with that many
  };
  // A deployment on the tier that is charged by the hour.
  struct Metered {
    std::int64_t containers = 1;  // how many it may have at once
    bool to_run = true;           // not destroyed, nor stopped for want of points
    bool suspended = false;
    // Those whose containers run, and until when what each of them ran is in `used`.
    std::map<std::string, std::int64_t> pods = {};
    std::map<std::int64_t, std::int64_t> used = {};  // milliseconds that aren't charged, by day
  };
  struct App {
    std::string owner;
    bool deleted = false;
    std::set<std::string> deployments = {};  // deployments that aren't destroyed
    std::map<std::string, Paid> paid = {};
    std::map<std::string, Metered> metered = {};
    std::int64_t remainder = 0;  // of a point, in millisecond-points
    std::int64_t held = 0;
  };
  struct Campaign {
    std::string app;
    std::int64_t payout = 0;
    std::int64_t rake = 0;
    std::int64_t spent = 0;
    std::int64_t rewards = 0;
    bool live = true;
  };
  struct Impression {  // an impression that was served; its payout is reserved
    std::string campaign;
    std::string app;
    std::string user;
    std::int64_t expires_at = 0;
    bool used = false;
    bool reserved = true;
  };
  struct Grant {
    std::optional<std::int64_t> limit;
    std::int64_t day = -1;
    std::int64_t spent = 0;
  };
  struct Hold {
    std::string source;
    std::int64_t amount = 0;
    std::int64_t expires_at = 0;
    bool open = true;
  };

  std::int64_t now = 0;
  std::map<std::string, std::int64_t> balances;  // by the id of the ledger account
  std::map<std::string, std::int64_t> bonus;     // the part of it that is a bonus
  std::map<std::string, User> users;
  std::map<std::string, App> apps;
  std::map<std::string, Spend> spends;                          // by their ids
  std::map<std::string, Gift> gifts;                            // by the ids of their transactions
  std::map<std::pair<std::string, std::string>, Grant> grants;  // app, user
  std::map<std::string, Hold> holds;
  std::map<std::string, Campaign> campaigns;
  std::map<std::string, Impression> impressions;                       // by their tokens
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> given;  // subject, day
  std::map<std::int64_t, std::int64_t> signups;                        // day

  std::int64_t today() const { return now / day; }
  std::int64_t balance(const std::string& account) const {
    const auto found = balances.find(account);
    return found == balances.end() ? 0 : found->second;
  }

  // What may leave the account.
  std::int64_t spendable(const std::string& account) const;

  // Each of these changes the model as a successful request changes berthd, and returns how the
  // request has to end.
  Ending mint(const std::string& account, std::int64_t amount);
  void verify(const std::string& user);
  // A spend that ends with "ok" is returned, too.
  Ending spend(const std::string& app, const std::string& user, std::int64_t amount, Spend& made);
  Ending refund(const std::string& spend, std::int64_t amount, Gift& made);
  Ending claw_back(const std::string& gift, std::int64_t amount);
  Ending transfer(const std::string& from, const std::string& to, std::int64_t amount);
  // Returns how many points are paid.
  std::int64_t reward(const std::string& user, const std::string& owner, std::int64_t amount);
  bool place(const std::string& source, std::int64_t amount) const {
    return spendable(source) >= amount;
  }
  void placed(const std::string& id, const std::string& source, std::int64_t amount,
              std::int64_t life);
  bool post(const std::string& id, const std::string& to);
  bool release(const std::string& id);
  void expire();
  // The deployment is added by the caller.
  Ending deploy(const std::string& app, std::int64_t containers);
  // By the hour. Holds what is needed for it; the deployment is added by the caller.
  Ending deploy_metered(const std::string& app, std::int64_t containers);
  // Another number of containers of a deployment of either kind.
  Ending change_number(const std::string& app, const std::string& deployment,
                       std::int64_t containers);
  void destroy(const std::string& app, const std::string& deployment);
  void begin_run(const std::string& app, const std::string& deployment, const std::string& pod);
  void end_run(const std::string& app, const std::string& deployment, const std::string& pod);
  // The loop looks at what the app has used: it charges, holds, and stops what can't be paid.
  void look_at(const std::string& app);
  Ending order_campaign(const std::string& app, std::int64_t payment, std::int64_t payout) const;
  void ordered(const std::string& id, const std::string& app, std::int64_t payment,
               std::int64_t payout);
  // Returns whether the campaign may be shown.
  bool can_serve(const std::string& campaign) const;
  void served(const std::string& token, const Impression& impression);
  // Returns whether the report is paid, or why not.
  Ending report(const std::string& token);
  // Returns how many points are given back.
  std::int64_t cancel(const std::string& campaign);
  Ending remove_app(const std::string& app);
  void remove_user(const std::string& user);

 private:
  __extension__ using Wide = __int128;
  void count(Metered& deployment, std::int64_t to) const;
  // What the app has used and not paid, and the points an hour of what runs or is to run.
  Wide used(const App& app) const;
  static std::int64_t rate(const App& app);
  Ending change_paid(const std::string& app, Paid& deployment, std::int64_t containers);
  Ending change_metered(const std::string& app, Metered& deployment, std::int64_t containers);
  // Raises the hold for what is to run, and may not have been before.
  Ending admit(const std::string& app, std::int64_t rate);
  // Charges the days before today, and of today what has stopped; or everything.
  enum class Charged { what_is_due, everything };
  void charge(const std::string& app, Charged what);
  enum class Mark { kept, reward, last };
  bool move(const std::string& from, const std::string& to, std::int64_t amount,
            Mark mark = Mark::kept);
  // How many of the points would be a bonus if they went to anybody but the treasury.
  std::int64_t bonus_in(const std::string& account, std::int64_t amount) const;
  std::int64_t bonus_of(const std::string& account) const {
    const auto found = bonus.find(account);
    return found == bonus.end() ? 0 : found->second;
  }
  // Lets bonus points reach the user, or returns false.
  bool reach(const std::string& user, std::int64_t points);
  bool within_caps(const std::string& user, const std::string& owner, std::int64_t amount) const;
  void release_impression(Impression& impression);
  void reward_viewer(Campaign& campaign, const Impression& impression);
  // Returns how many points were counted.
  std::int64_t consider_referral(const std::string& app, const std::string& user, std::int64_t own);
  bool may_pay_campaign(const std::string& app, std::int64_t payment) const;
};

}  // namespace berth::simulate
