// Variables that an operator sets once for an app, and that all its deployments inherit.
#include "controller/domain/deployments/app_variables.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "controller/domain/deployments/dry_run.h"
#include "controller/domain/deployments/rollback.h"
#include "controller/domain/kernel/audit.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::AppVariablesChange;
using deployments::Deployment;
using deployments::Status;
using deployments::Variable;
using deployments::VariableOrigin;
using nlohmann::json;
using Env = std::map<std::string, std::string>;
using Changes = std::map<std::string, std::optional<std::string>>;

struct Fixture : DomainWorld {
  AppVariablesChange set(const apps::App& app, const Changes& changes) {
    return write([&](db::Tx& tx) {
      return deployments::change_app_variables(tx, actor(app), changes, keys.data);
    });
  }
  std::string refused(const Changes& changes) {
    return refusal([&] { set(adas, changes); });
  }
  std::vector<Variable> of_app(const apps::App& app) {
    return read([&](db::Tx& tx) { return deployments::app_variables(tx, app.id, keys.data); });
  }
  std::vector<Variable> of_deployment(const std::string& id) {
    return read([&](db::Tx& tx) { return deployments::variables(tx, adas.id, id, keys.data); });
  }
  // What the container gets.
  Env env(const std::string& id) {
    return read([&](db::Tx& tx) {
      return deployments::desired_state(tx, id, keys.data).value().secrets.env;
    });
  }
  Deployment deploy_with(const std::string& name, const Env& own = {}) {
    auto wanted = order(name);
    wanted.secrets.env = own;
    return deploy(adas, wanted);
  }
  void runs(const std::string& id) {
    deployments::Observation seen;
    seen.status = Status::running;
    record(id, find_deployment(id).generation, seen);
  }
  Deployment running(const std::string& name, const Env& own = {}) {
    const std::string id = deploy_with(name, own).id;
    runs(id);
    return find_deployment(id);
  }
  Deployment set_own(const std::string& id, const Changes& changes) {
    deployments::Change wanted;
    wanted.env = changes;
    return change(adas, id, wanted);
  }
  json last_details(const std::string& id) { return json::parse(logs(id).back().details.value()); }
  std::vector<audit::Entry> audited() {
    return read([](db::Tx& tx) {
      return audit::list(tx, {.action = "app.variables"}, {.page = 1, .page_size = 20}).items;
    });
  }
};

std::set<std::string> names_of(const AppVariablesChange& change) {
  std::set<std::string> names;
  for (const auto& deployment : change.replaced) names.insert(deployment.name);
  return names;
}

}  // namespace

TEST_CASE("deployments inherit the app's variables, and their own come first") {
  Fixture f;
  const auto shop = f.running("shop", {{"LEVEL", "debug"}, {"OWN", "1"}});
  f.clock.advance(1h);
  f.set(f.adas, {{"LEVEL", "info"}, {"SHARED", "s"}});
  CHECK(f.env(shop.id) == Env{{"LEVEL", "debug"}, {"OWN", "1"}, {"SHARED", "s"}});
  const auto later = f.deploy_with("later");
  CHECK(f.env(later.id) == Env{{"LEVEL", "info"}, {"SHARED", "s"}});
  CHECK(f.find_deployment(later.id).env_keys.empty());
  CHECK(f.env(f.deploy(f.eves, order("foreign")).id).empty());

  const auto list = f.of_deployment(shop.id);
  REQUIRE(list.size() == 3);
  CHECK(list[0].name == "LEVEL");
  CHECK(list[0].from == VariableOrigin::deployment);
  CHECK(list[0].overrides);
  CHECK(list[0].set_at == shop.inserted_at);
  CHECK(list[1].name == "OWN");
  CHECK_FALSE(list[1].overrides);
  CHECK(list[2].name == "SHARED");
  CHECK(list[2].from == VariableOrigin::app);
  CHECK(list[2].set_at == f.clock.now());
  const auto of_app = f.of_app(f.adas);
  REQUIRE(of_app.size() == 2);
  CHECK(of_app[1].digest == list[2].digest);
  CHECK(of_app[0].digest != list[0].digest);

  f.set_own(shop.id, {{"LEVEL", std::nullopt}});
  CHECK(f.env(shop.id).at("LEVEL") == "info");
  f.set(f.adas, {{"LEVEL", std::nullopt}});
  CHECK(f.env(shop.id) == Env{{"OWN", "1"}, {"SHARED", "s"}});
  f.destroy(f.adas, shop.id);
  CHECK(f.of_deployment(shop.id).empty());
}

TEST_CASE("a change replaces the containers that get another value, and no others") {
  Fixture f;
  const auto plain = f.running("plain");
  const auto overriding = f.running("overriding", {{"A", "own"}, {"B", "own"}});
  const auto half = f.running("half", {{"A", "own"}});
  const auto stopped = f.running("stopped");
  f.stop(f.adas, stopped.id);
  const auto pending = f.deploy_with("pending");
  const auto gone = f.running("gone");
  f.destroy(f.adas, gone.id);
  const auto before = f.find_deployment(stopped.id);
  std::vector<std::string> woken;
  f.db.subscribe([&](db::Topic topic, const std::string& id) {
    if (topic == db::Topic::deployment) woken.push_back(id);
  });

  const auto change = f.set(f.adas, {{"A", "1"}, {"B", "2"}});
  CHECK(names_of(change) == std::set<std::string>{"plain", "half", "pending"});
  CHECK(f.find_deployment(plain.id).status == Status::deploying);
  CHECK(f.find_deployment(plain.id).generation == plain.generation + 1);
  CHECK(f.find_deployment(plain.id).rollout == plain.rollout);
  CHECK(f.find_deployment(overriding.id).status == Status::running);
  CHECK(f.find_deployment(overriding.id).generation == overriding.generation);
  CHECK(f.logs(overriding.id).size() == 2);
  CHECK(f.find_deployment(pending.id).status == Status::pending);
  const auto after = f.find_deployment(stopped.id);
  CHECK(after.status == Status::stopped);
  CHECK(after.generation == before.generation);
  CHECK(after.stopped_at == before.stopped_at);
  // The Secret of the stopped one is brought up to date as well.
  CHECK(std::ranges::count(woken, stopped.id) == 1);
  CHECK(std::ranges::count(woken, overriding.id) == 0);

  CHECK(f.logs(half.id).back().status == deployments::LogStatus::started);
  CHECK(f.logs(half.id).back().initiated_by == f.ada.id);
  const json none = json::array();
  const json difference = {{"field", "app_variables"},
                           {"added", json::array({"B"})},
                           {"changed", none},
                           {"removed", none}};
  CHECK(f.last_details(half.id) == json{{"kind", "app_variables"},
                                        {"fields", json::array({"app_variables"})},
                                        {"generation", 2},
                                        {"changes", json::array({difference})}});
  f.restart(f.adas, stopped.id);
  CHECK(f.env(stopped.id) == Env{{"A", "1"}, {"B", "2"}});
}

TEST_CASE("several variables are set and removed at once, and what stays the same isn't written") {
  Fixture f;
  const auto shop = f.running("shop");
  f.set(f.adas, {{"A", "1"}, {"B", "2"}, {"C", "3"}});
  f.runs(shop.id);
  f.clock.advance(1h);
  const auto change = f.set(f.adas, {{"A", "1"}, {"B", "x"}, {"C", std::nullopt}, {"D", "4"}});
  CHECK(f.env(shop.id) == Env{{"A", "1"}, {"B", "x"}, {"D", "4"}});
  REQUIRE(change.variables.size() == 3);
  CHECK(change.variables[0].set_at == f.clock.now() - 1h);
  CHECK(change.variables[1].set_at == f.clock.now());
  const auto entries = f.audited();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].actor == f.ada.id);
  CHECK(entries[0].target == f.adas.id);
  CHECK(json::parse(entries[0].details) == json{{"added", json::array({"D"})},
                                                {"changed", json::array({"B"})},
                                                {"removed", json::array({"C"})}});

  const auto generation = f.find_deployment(shop.id).generation;
  const auto lines = f.logs(shop.id).size();
  CHECK(f.set(f.adas, {{"A", "1"}, {"C", std::nullopt}}).replaced.empty());
  CHECK(f.set(f.adas, {}).variables.size() == 3);
  CHECK(f.find_deployment(shop.id).generation == generation);
  CHECK(f.logs(shop.id).size() == lines);
  CHECK(f.audited().size() == 2);
}

TEST_CASE("values are stored encrypted, for their app and name alone, and written nowhere else") {
  Fixture f;
  const auto shop = f.running("shop");
  f.set(f.adas, {{"PASSWORD", "hunter2"}, {"OTHER", "1"}});
  f.read([&](db::Tx& tx) {
    for (const char* secret : {"hunter2", "aHVudGVyMg"}) {
      CHECK(tx.number("SELECT count(*) FROM app_variables "
                      "WHERE replace(value_sealed, $1, '') <> value_sealed",
                      secret) == 0);
      for (const char* table : {"deploy_logs", "audit_log"})
        CHECK(tx.number("SELECT count(*) FROM " + std::string(table) +
                            " WHERE replace(details, $1, '') <> details",
                        secret) == 0);
    }
    CHECK_THROWS_AS(deployments::app_variables(tx, f.adas.id, std::string(32, 'x')),
                    std::runtime_error);
  });
  f.write([&](db::Tx& tx) {
    tx.execute(
        "UPDATE app_variables SET value_sealed = (SELECT value_sealed FROM app_variables "
        "WHERE name = 'PASSWORD') WHERE name = 'OTHER'");
  });
  CHECK_THROWS_AS(f.env(shop.id), std::runtime_error);
}

TEST_CASE("names and sizes have the limits of a deployment's own variables") {
  Fixture f;
  const auto wrong = [&](const Changes& changes) {
    std::vector<std::string> fields;
    for (const auto& [field, why] : details([&] { f.set(f.adas, changes); }))
      fields.push_back(field);
    return fields;
  };
  using Fields = std::vector<std::string>;
  CHECK(wrong({{"BERTH_X", "1"}, {"1A", "2"}}) == Fields{"variables.1A", "variables.BERTH_X"});
  CHECK(wrong({{"A", std::string("a\0b", 3)}}) == Fields{"variables.A"});
  CHECK(wrong({{"A", std::string(deployments::max_env_bytes, 'x')}}) == Fields{"variables"});
  Changes many;
  for (size_t i = 0; i < deployments::max_env_keys; ++i) many["N" + std::to_string(i)] = "1";
  f.set(f.adas, many);
  CHECK(wrong({{"ONE_MORE", "1"}}) == Fields{"variables"});
  CHECK(f.refused({{"ONE_MORE", "1"}, {"N0", std::nullopt}}).empty());
  CHECK(refusal([&] {
          f.write([&](db::Tx& tx) {
            deployments::change_app_variables(
                tx, {.user_id = f.ada.id, .app_id = "none", .request_id = {}}, {}, f.keys.data);
          });
        }) == "404 app_not_found");
}

TEST_CASE("an app and a deployment at all their limits fit into one container") {
  Fixture f;
  Changes of_app;
  Env own;
  const size_t longest = deployments::max_env_bytes / deployments::max_env_keys - 10;
  for (size_t i = 0; i < deployments::max_env_keys; ++i) {
    of_app["APP" + std::to_string(i)] = std::string(longest, 'a');
    own["OWN" + std::to_string(i)] = std::string(longest, 'o');
  }
  f.set(f.adas, of_app);
  const auto env = f.env(f.deploy_with("full", own).id);
  CHECK(env.size() == 2 * deployments::max_env_keys);
  size_t bytes = 0;
  for (const auto& [name, value] : env) bytes += name.size() + value.size();
  CHECK(bytes > deployments::max_env_bytes);
  CHECK(bytes < deployments::max_bytes_of_secret);
}

TEST_CASE("a change that would reach too many deployments is refused as a whole") {
  Fixture f;
  f.write([&](db::Tx& tx) {
    for (size_t i = 0; i < deployments::max_inheriting; ++i)
      deployments::create(tx, f.actor(f.adas), order("n" + std::to_string(i)), f.rules,
                          f.keys.data);
  });
  CHECK(f.set(f.adas, {{"A", "1"}}).replaced.size() == deployments::max_inheriting);
  const auto last = f.deploy_with("last");
  CHECK(f.refused({{"A", "2"}}) == "422 validation_failed");
  CHECK(f.env(last.id) == Env{{"A", "1"}});
  CHECK(f.find_deployment(last.id).generation == 1);
  f.set_own(last.id, {{"A", "own"}});
  CHECK(f.refused({{"A", "2"}}).empty());
}

TEST_CASE("a rollback brings back a deployment's own variables, and leaves the app's") {
  Fixture f;
  const auto shop = f.running("shop", {{"OWN", "1"}});
  f.set(f.adas, {{"SHARED", "1"}});
  f.clock.advance(2s);
  f.runs(shop.id);
  CHECK(f.last_details(shop.id)["kind"] == "app_variables");
  CHECK(f.last_details(shop.id)["image"] == "ghcr.io/acme/web:1");
  CHECK(f.last_details(shop.id)["duration_seconds"] == 2.0);
  CHECK(f.logs(shop.id).back().initiated_by == f.ada.id);
  const auto of_app_change = f.logs(shop.id).back().id;
  // What happens later isn't a part of the rollout.
  deployments::Observation crashed;
  crashed.status = Status::errored;
  crashed.reason = deployments::Reason::crash_loop;
  f.record(shop.id, f.find_deployment(shop.id).generation, crashed);
  CHECK_FALSE(f.last_details(shop.id).contains("kind"));

  f.set_own(shop.id, {{"OWN", "2"}});
  f.runs(shop.id);
  f.set(f.adas, {{"SHARED", "2"}});
  const auto roll_back = [&](const std::optional<std::string>& to = {}) {
    return f.write([&](db::Tx& tx) {
      return deployments::rollback(tx, f.actor(f.adas), shop.id, to, f.rules, f.keys.data);
    });
  };
  CHECK(refusal([&] { roll_back(of_app_change); }) == "409 invalid_state");
  roll_back();
  CHECK(f.env(shop.id) == Env{{"OWN", "1"}, {"SHARED", "2"}});
}

TEST_CASE("a failing rollout of the app's variables is logged as such") {
  Fixture f;
  const auto shop = f.running("shop");
  f.set(f.adas, {{"A", "1"}});
  deployments::Observation failed;
  failed.status = Status::running;
  failed.reason = deployments::Reason::rollout_failed;
  failed.cause = deployments::Reason::crash_loop;
  f.record(shop.id, 2, failed);
  CHECK(f.logs(shop.id).back().status == deployments::LogStatus::failed);
  CHECK(f.last_details(shop.id)["kind"] == "app_variables");
  f.runs(shop.id);
  CHECK(f.logs(shop.id).back().status == deployments::LogStatus::succeeded);
  CHECK(f.last_details(shop.id)["kind"] == "app_variables");
}

TEST_CASE("a dry run knows that an own variable with the app's value replaces no container") {
  Fixture f;
  f.set(f.adas, {{"LEVEL", "info"}});
  const auto shop = f.running("shop");
  const auto replaces = [&](const Changes& own) {
    deployments::Change wanted;
    wanted.env = own;
    const auto outcome = f.write([&](db::Tx& tx) {
      return deployments::dry_run(tx, f.actor(f.adas),
                                  {{.order = {}, .id = shop.id, .change = wanted}}, f.rules,
                                  f.keys.data);
    });
    CHECK(outcome.at(0).fields == std::vector<std::string>{"env_vars.LEVEL"});
    return outcome.at(0).replaces_container;
  };
  CHECK_FALSE(replaces({{"LEVEL", "info"}}));
  CHECK(replaces({{"LEVEL", "debug"}}));
}

TEST_CASE("nothing is left of a deleted app's variables") {
  Fixture f;
  f.set(f.adas, {{"A", "1"}});
  f.set(f.eves, {{"A", "1"}});
  f.write([&](db::Tx& tx) { apps::remove(tx, f.adas); });
  f.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM app_variables WHERE app_id = $1", f.adas.id) == 0);
    CHECK(tx.number("SELECT count(*) FROM app_variables") == 1);
    CHECK(tx.number("SELECT count(*) FROM audit_log WHERE target = $1 AND details <> '{}'",
                    f.adas.id) == 0);
  });
}

namespace {

// What a deployment should be.
struct Modelled {
  std::string id;
  Env own;
  std::int64_t generation = 1;
  bool is_stopped = false;
};

Env merged(Env own, const Env& of_app) {
  own.insert(of_app.begin(), of_app.end());
  return own;
}

Changes any_changes() {
  Changes changes;
  const int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) {
    const auto value = *rc::gen::element<std::string>("", "1", "2");
    changes[*rc::gen::element<std::string>("A", "B", "C", "D")] =
        value.empty() ? std::nullopt : std::optional(value);
  }
  return changes;
}

void put_into(Env& env, const Changes& changes) {
  for (const auto& [name, value] : changes)
    if (value)
      env[name] = *value;
    else
      env.erase(name);
}

}  // namespace

TEST_CASE("whatever is set where, containers get what a model says, and are replaced only then") {
  CHECK(rc::check([] {
    Fixture f;
    Env of_app;
    std::vector<Modelled> all;
    for (int i = 0; i < 3; ++i) {
      Modelled one;
      put_into(one.own, any_changes());
      one.id = f.deploy_with("m" + std::to_string(i), one.own).id;
      all.push_back(one);
    }
    const int steps = *rc::gen::inRange(1, 8);
    for (int step = 0; step < steps; ++step) {
      Modelled& one = all.at(*rc::gen::inRange<size_t>(0, all.size()));
      const Changes changes = any_changes();
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          if (!one.is_stopped) ++one.generation;
          one.is_stopped = true;
          f.stop(f.adas, one.id);
          break;
        case 1: {
          const Env before = one.own;
          put_into(one.own, changes);
          if (one.own != before) ++one.generation;
          f.set_own(one.id, changes);
          break;
        }
        default: {
          const Env before = of_app;
          put_into(of_app, changes);
          std::set<std::string> replaced;
          for (Modelled& each : all)
            if (!each.is_stopped && merged(each.own, before) != merged(each.own, of_app)) {
              ++each.generation;
              replaced.insert(each.id);
            }
          std::set<std::string> said;
          for (const auto& deployment : f.set(f.adas, changes).replaced) said.insert(deployment.id);
          RC_ASSERT(said == replaced);
        }
      }
      for (const Modelled& each : all) {
        RC_ASSERT(f.env(each.id) == merged(each.own, of_app));
        RC_ASSERT(f.find_deployment(each.id).generation == each.generation);
        Env::size_type of_deployment = 0;
        for (const Variable& variable : f.of_deployment(each.id)) {
          const bool is_own = each.own.contains(variable.name);
          of_deployment += is_own ? 1 : 0;
          RC_ASSERT((variable.from == VariableOrigin::deployment) == is_own);
          RC_ASSERT(variable.overrides == (is_own && of_app.contains(variable.name)));
        }
        RC_ASSERT(of_deployment == each.own.size());
      }
    }
  }));
}
