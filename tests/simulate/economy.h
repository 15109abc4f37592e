#pragma once

#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller/domain/ads/events.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/keys.h"
#include "controller/domain/ledger/rewards.h"
#include "controller/domain/oauth/oauth.h"
#include "tests/simulate/engine.h"
#include "tests/simulate/model.h"

namespace berth::simulate {

// A difference between berth and the model. The message names the step.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns the account with an id such as user:<id>, which is how the model names accounts.
ledger::Account account_of(const std::string& id);

struct Counts {
  int steps = 0;
  int answered = 0;  // requests that ended as the model said
  int reruns = 0;    // how often the work of a write was run again
  int faults = 0;    // requests that a failing store refused
  int doubts = 0;    // those of them that may have been stored
  int kills = 0;     // how often the process was ended without warning
};

// berthd's own domain code on a real store that fails, with a clock that stands still, driven by a
// seed; and beside it the model.
class Economy {
 public:
  // `engine` is a new one, which has to live as long as this object. The audit reads every posting,
  // so it is made only at every `audit_every`th step; what it finds doesn't go away by itself.
  Economy(std::uint64_t seed, Engine& engine, int audit_every);
  Economy(const Economy&) = delete;
  Economy& operator=(const Economy&) = delete;

  // Makes one request, moves the clock, or causes a fault or a kill. Then compares the balances
  // with the model, and audits the ledger if it is its turn or after a kill. Throws Broken.
  void step();
  // Checks the ledger's invariants, and how it tells its balances. Throws Broken.
  void audit();
  const Counts& counts() const { return counts_; }

 private:
  using Action = void (Economy::*)();

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::int64_t some_amount();
  std::int64_t some_number() { return 1 + std::int64_t(below(Model::most_containers)); }
  std::string pick(const std::vector<std::string>& ids) { return ids[below(ids.size())]; }
  struct Consent {
    std::string app;
    std::string user;
  };
  std::vector<Consent> living_consents() const;
  struct MeteredAt {
    std::string app;
    std::string deployment;
  };
  // Those of which a container runs, or those that may have one more, which may be of a new
  // version.
  std::vector<MeteredAt> metered(bool running) const;
  std::string pick_hold();  // one of the model's holds, open or not
  deployments::Actor actor_of(const std::string& app) const;
  std::vector<std::string> living_users() const;
  std::vector<std::string> living_apps() const;

  // Runs `work` in one transaction, and then the same on the model. If the store refuses it, the
  // model stays as it is; if it may be stored all the same, the state with the change is kept as
  // one that may be found, at once or after a kill. Throws Broken if it doesn't end as `expected`.
  enum class Isolation { serializable, row_locks };
  template <typename Work, typename Same>
  void attempt(const Ending& expected, Work&& work, Same&& same,
               Isolation isolation = Isolation::serializable);

  void register_user();
  void verify_user();
  void mint();
  void create_app();
  void connect();
  void limit_spending();
  void spend();
  void refund();
  void claw_back();
  void transfer();
  void reward();
  void place_hold();
  void post_hold();
  void release_hold();
  void deploy();
  void deploy_metered();
  void deploy_on(const std::string& tier,
                 Ending (Model::*order_in)(const std::string&, std::int64_t), bool is_metered);
  void change_number();
  void begin_run();
  void end_run();
  void look_at_metered();
  void destroy();
  void order_campaign();
  void serve();
  void report();
  void cancel_campaign();
  void remove_app();
  void remove_user();
  void fold();
  void pass_time();
  void kill();

  void open();
  // Determines whether a write that was in doubt is stored, and makes the model match.
  void settle_doubts();
  // Returns how the balances differ from the model's; empty if they don't.
  std::string difference(db::Tx& tx, const Model& model) const;
  bool fits(db::Tx& tx, const Model& model) const;
  void compare();
  [[noreturn]] void fail(const std::string& what) const;

  std::mt19937_64 random_;
  const int audit_every_;
  Engine& engine_;
  Clock clock_;
  Keys keys_;
  rewards::Rules rewards_;
  accounts::SignupBonus bonus_;
  deployments::Rules rules_;
  oauth::Policy policy_;
  ads::Rules ad_rules_;
  db::Database* database_ = nullptr;         // the engine's; has the lifetime of the process, too
  std::optional<ads::CampaignIndex> index_;  // has the lifetime of the simulated process
  Model model_;
  std::vector<Model> doubts_;
  std::map<std::pair<std::string, std::string>, std::string> grant_ids_;  // app, user
  Counts counts_;
  int named_ = 0;
  int pods_ = 0;
  const char* doing_ = "start";
};

}  // namespace berth::simulate
