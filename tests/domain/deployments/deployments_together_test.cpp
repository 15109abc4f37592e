// Deployments that are created at the same time. On PostgreSQL these writes run side by side
// (Database::write_with_row_locks); on SQLite they run one after the other, with the same results.
#include <barrier>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "controller/domain/deployments/rules.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Crowd : DomainWorld {
  static constexpr int size = 8;

  // Calls `work` with the numbers from 0 on, on a thread for each that begin together. Returns how
  // often each answer was given, such as "7 done, 1 409 subdomain_taken".
  static std::string all(const std::function<void(int)>& work) {
    std::map<std::string, int> answers;
    std::mutex mutex;
    std::barrier start(size);
    std::vector<std::jthread> threads;
    for (int i = 0; i < size; ++i)
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        std::string answer = refusal([&] { work(i); });
        if (answer.empty()) answer = "done";
        const std::lock_guard lock(mutex);
        ++answers[answer];
      });
    threads.clear();
    std::string text;
    for (const auto& [answer, count] : answers)
      text.append(text.empty() ? "" : ", ").append(std::to_string(count)).append(" " + answer);
    return text;
  }
  static std::string name_of(int number) { return "shop" + std::to_string(number); }

  std::int64_t count(const apps::App& app) {
    return read([&](db::Tx& tx) {
      return deployments::list(tx, app.id, {.page = 1, .page_size = 1}).total;
    });
  }
  std::int64_t of_tier(const std::string& slug) {
    return read([&](db::Tx& tx) {
      return deployments::used_of_tier(tx, ada.id, tiers::find_by_slug(tx, slug)->id);
    });
  }
  void limit(const std::string& slug, int most) {
    write([&](db::Tx& tx) {
      tx.execute("UPDATE deploy_tiers SET max_deployments = $2 WHERE slug = $1", slug, most);
    });
  }
};

TEST_CASE("deployments together: the limit of a tier holds over all apps of the owner") {
  Crowd w;
  const auto second_app = w.approved_app(w.ada, {Scope::deploy_manage});
  w.limit("free", 3);
  const auto answers = Crowd::all(
      [&](int i) { w.deploy(i % 2 == 0 ? w.adas : second_app, order(Crowd::name_of(i), "free")); });
  CHECK(answers == "5 429 deployment_limit_reached, 3 done");
  CHECK(w.of_tier("free") == 3);
}

TEST_CASE("deployments together: the limit holds for those that are moved to the tier, too") {
  Crowd w;
  w.limit("free", 3);
  std::vector<std::string> ids;
  for (int i = 0; i < Crowd::size; ++i)
    ids.push_back(w.deploy(w.adas, order(Crowd::name_of(i), "wide")).id);
  deployments::Change to_free;
  to_free.tier = "free";
  const auto answers = Crowd::all([&](int i) {
    if (i % 2 == 0) {
      w.deploy(w.adas, order("new" + std::to_string(i), "free"));
    } else {
      w.write([&](db::Tx& tx) {
        deployments::change(tx, w.actor(w.adas), ids.at(i), to_free, w.rules, w.keys.data);
      });
    }
  });
  CHECK(answers == "5 429 deployment_limit_reached, 3 done");
  CHECK(w.of_tier("free") == 3);
}

TEST_CASE("deployments together: each holds an hour of its own") {
  Crowd w;
  w.write([](db::Tx& tx) {
    tiers::Tier tier = *tiers::find_by_slug(tx, "wide");
    tier.slug = tier.name = "hourly";
    tier.points_per_hour = 100;
    tiers::create(tx, tier);
  });
  const ledger::Account account = ledger::app_account(w.adas.id);
  w.mint(account, 399);
  const auto answers =
      Crowd::all([&](int i) { w.deploy(w.adas, order(Crowd::name_of(i), "hourly")); });
  CHECK(answers == "5 422 insufficient_balance, 3 done");
  CHECK(w.read([&](db::Tx& tx) { return ledger::held(tx, account); }) == 300);
}

TEST_CASE("deployments together: one of them gets the name") {
  Crowd w;
  const auto answers =
      Crowd::all([&](int i) { w.deploy(i % 2 == 0 ? w.adas : w.eves, order("shop", "wide")); });
  CHECK(answers == "7 409 subdomain_taken, 1 done");
  CHECK(w.count(w.adas) + w.count(w.eves) == 1);
}

TEST_CASE("deployments together: one of them gets a domain that another one has lost") {
  Crowd w;
  constexpr const char* domain = "www.example.com";
  const auto old = w.deploy_at(w.eves, "old", domain);
  w.check(w.claim_of(old.id), custom_domains::Outcome::refuted);
  w.clock.advance(custom_domains::refuted_claim_holds);
  w.check(w.claim_of(old.id), custom_domains::Outcome::refuted);
  const auto answers = Crowd::all([&](int i) { w.deploy_at(w.adas, Crowd::name_of(i), domain); });
  CHECK(answers == "7 409 domain_taken, 1 done");
  CHECK_FALSE(w.living(old.id));
  CHECK(w.count(w.adas) == 1);
}

TEST_CASE("deployments together: an app pays for as many as it has points for") {
  Crowd w;
  w.limit("basic", Crowd::size);
  w.write([&](db::Tx& tx) { apps::promote(tx, w.adas.id, "basic", "root"); });
  w.mint(ledger::app_account(w.adas.id), 350);  // one costs 100
  const auto answers =
      Crowd::all([&](int i) { w.deploy(w.adas, order(Crowd::name_of(i), "basic")); });
  CHECK(answers == "5 422 insufficient_balance, 3 done");
  CHECK(w.of_tier("basic") == 3);
  CHECK(w.balance(ledger::app_account(w.adas.id)) == 50);
  for (const auto& check : w.read([](db::Tx& tx) { return ledger::audit(tx); })) {
    INFO(check.name << ": " << check.detail);
    CHECK(check.ok);
  }
}

TEST_CASE("deployments together: an app that is deleted meanwhile has none") {
  Crowd w;
  for (int round = 0; round < 6; ++round) {  // an account may have ten apps
    const auto app = w.approved_app(w.ada, {Scope::deploy_manage});
    const auto answers = Crowd::all([&](int i) {
      if (i == 0)
        w.write([&](db::Tx& tx) { apps::remove(tx, *apps::find(tx, app.id)); });
      else
        w.deploy(app, order("r" + std::to_string(round) + "-" + std::to_string(i), "wide"));
    });
    INFO("round " << round);
    const bool is_deleted = !w.read([&](db::Tx& tx) { return apps::find(tx, app.id); });
    if (is_deleted) {
      CHECK(w.count(app) == 0);
      CHECK(answers == "7 404 app_not_found, 1 done");
    } else {
      CHECK(w.count(app) == Crowd::size - 1);
      CHECK(answers == "1 409 invalid_state, 7 done");
    }
  }
}

}  // namespace
