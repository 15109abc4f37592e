#include "cli/deploy_plan.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "cli/failure.h"

using berth::cli::describe;
using berth::cli::Exit;
using berth::cli::Failure;
using berth::cli::json;
using berth::cli::parse_orders;
using berth::cli::Plan;
using berth::cli::plan_for;
using berth::cli::Step;
using berth::cli::steps_of;

namespace {

json live() {
  return {{"id", "01936f5e-7c1a-7000-8000-000000000005"},
          {"subdomain", "shop"},
          {"container_image", "docker.io/library/shop:1"},
          {"tier", "free"},
          {"port", 3000},
          {"custom_domain", nullptr},
          {"health_path", nullptr},
          {"labels", {{"team", "red"}}},
          {"env_keys", {"LOG_LEVEL", "OLD"}}};
}

Exit exit_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.exit;
  }
  return Exit::ok;
}

}  // namespace

TEST_CASE("a file contains one deployment or a list of them") {
  const auto one = parse_orders("name: shop\nimage: docker.io/library/shop:1\n", "berth.yaml");
  REQUIRE(one.size() == 1);
  CHECK(one[0] == json{{"name", "shop"}, {"image", "docker.io/library/shop:1"}});
  const auto two = parse_orders(
      "deployments:\n- {name: a, image: i}\n- {name: b, image: i, env: {PORT: 80, ON: true}}\n",
      "f");
  REQUIRE(two.size() == 2);
  CHECK(two[1].at("env_vars") == json{{"PORT", "80"}, {"ON", "true"}});
}

TEST_CASE("the message names what is wrong in a file") {
  for (const char* text :
       {"name: shop", "name: shop\nimage: i\nprot: 80", "deployments: []", "deployments: 3",
        "- name: shop", "name: [1]\nimage: i", "name: a\nimage: i\nenv: {A: 1}\nenv_vars: {A: 1}",
        "name: a\nimage: i\nenv: [A]", "", "name: a\nname: b\nimage: i",
        "name: a\nimage: i\n---\nname: b\nimage: i", "name: a\nimage: i\nenv: {A: 1, A: 2}",
        "&a {name: a, image: i, env: *a}",
        "deployments:\n- {name: a, image: i}\n- {name: a, image: j}",
        "name: a\nimage: i\nenv: {A: '${BERTH_TEST_IS_NOT_SET}'}", "name: {"}) {
    CAPTURE(text);
    CHECK(exit_of([&] { parse_orders(text, "berth.yaml"); }) == Exit::usage);
  }
}

TEST_CASE("values stay the texts that were written and don't become numbers") {
  const auto orders = parse_orders(
      "name: a\nimage: i\nport: 0x50\nenv:\n  VERSION: 1.10\n  MODE: 0644\n  ON: True\n", "f");
  CHECK(orders[0].at("env_vars") == json{{"VERSION", "1.10"}, {"MODE", "0644"}, {"ON", "True"}});
  CHECK(orders[0].at("port") == 80);
}

TEST_CASE("domains that differ only in case are the same") {
  json there = live();
  there["custom_domain"] = "shop.example.com";
  const json order = {{"name", "shop"}, {"custom_domain", "Shop.Example.COM"}};
  CHECK(plan_for(order, there).kind == Plan::Kind::nothing);
  CHECK(plan_for({{"name", "shop"}, {"custom_domain", "shop.example.org"}}, there).kind ==
        Plan::Kind::patch);
}

TEST_CASE("domains that differ only in the dot at their end are the same") {
  json there = live();
  there["custom_domain"] = "shop.example.com";
  CHECK(plan_for({{"name", "shop"}, {"custom_domain", "Shop.example.com."}}, there).kind ==
        Plan::Kind::nothing);
}

TEST_CASE("environment variables are filled in everywhere, and other dollars stay") {
  ::setenv("BERTH_TEST_SECRET", "s3cr$t", 1);
  ::setenv("BERTH_TEST_EMPTY", "", 1);
  const auto orders = parse_orders(
      "name: a\nimage: '${BERTH_TEST_SECRET}'\nenv:\n  A: 'x${BERTH_TEST_SECRET}y'\n  B: '$${A} "
      "$C'\n"
      "  C: '${BERTH_TEST_EMPTY}'\n",
      "f");
  CHECK(orders[0].at("env_vars") == json{{"A", "xs3cr$ty"}, {"B", "${A} $C"}, {"C", ""}});
  CHECK(orders[0].at("image") == "s3cr$t");
  ::setenv("BERTH_TEST_TAG", "1.4", 1);
  ::setenv("BERTH_TEST_PORT", "8080", 1);
  const auto more = parse_orders(
      "name: a\nimage: 'docker.io/library/a:${BERTH_TEST_TAG}'\nport: '${BERTH_TEST_PORT}'\n"
      "health_path: '/${BERTH_TEST_UNSET:-healthz}'\nlabels: {tag: '${BERTH_TEST_TAG}'}\n"
      "env: {PASSWORD: 'pa$$word', COST: '5$', BOTH: '$${A}$$${BERTH_TEST_TAG}', OPEN: '${'}\n",
      "f");
  CHECK(more[0].at("image") == "docker.io/library/a:1.4");
  CHECK(more[0].at("port") == 8080);
  CHECK(more[0].at("health_path") == "/healthz");
  CHECK(more[0].at("labels") == json{{"tag", "1.4"}});
  CHECK(more[0].at("env_vars") == json{{"PASSWORD", "pa$$word"},
                                       {"COST", "5$"},
                                       {"BOTH", "${A}$${BERTH_TEST_TAG}"},
                                       {"OPEN", "${"}});
}

namespace {

json live_with_domain(const std::string& name, const json& domain) {
  json row = live();
  row["id"] = "id of " + name;
  row["subdomain"] = name;
  row["custom_domain"] = domain;
  return row;
}

// What is asked of the server, as lines.
std::vector<std::string> lines_of(const std::vector<Plan>& plans) {
  std::vector<std::string> lines;
  for (const Step& step : steps_of(plans))
    lines.push_back(plans[step.plan].name + " " +
                    step.operation.value("change", step.operation.value("create", json()))
                        .value("custom_domain", json("stays"))
                        .dump());
  return lines;
}

}  // namespace

TEST_CASE("a domain moves whatever the order of the file is, and two can be swapped") {
  const auto wants = [](const std::string& name, const json& domain, const json& now) {
    return plan_for({{"name", name}, {"custom_domain", domain}},
                    now == "new" ? json(nullptr) : live_with_domain(name, now));
  };
  using Lines = std::vector<std::string>;
  const json x = "x.example.com";
  const json y = "y.example.com";
  CHECK(lines_of({wants("a", nullptr, x), wants("b", x, nullptr)}) ==
        Lines{"a null", "a null", R"(b "x.example.com")"});
  CHECK(lines_of({wants("b", "X.example.com.", nullptr), wants("a", nullptr, x)}) ==
        Lines{"a null", R"(b "X.example.com.")", "a null"});
  CHECK(lines_of({wants("a", y, x), wants("b", x, y)}) ==
        Lines{"a null", "b null", R"(a "y.example.com")", R"(b "x.example.com")"});
  CHECK(lines_of({wants("new", x, "new"), wants("a", nullptr, x)}) ==
        Lines{"a null", R"(new "x.example.com")", "a null"});
  // Nobody wants it, or it stays where it is.
  CHECK(lines_of({wants("a", nullptr, x)}) == Lines{"a null"});
  CHECK(lines_of({wants("a", x, x), wants("b", y, nullptr)}) == Lines{R"(b "y.example.com")"});
}

TEST_CASE("the server tells which of the values that it never returns differ") {
  const json order = {{"name", "shop"},
                      {"env_vars", {{"LOG_LEVEL", "debug"}, {"OLD", "1"}}},
                      {"registry_credentials", {{"username", "u"}, {"password", "p"}}}};
  const auto learned = [&](const json& fields) {
    std::vector<Plan> plans = {plan_for(order, live())};
    learn(plans, steps_of(plans), json::array({{{"fields", fields}, {"points", 7}}}));
    return plans[0];
  };
  CHECK(learned(json::array()).kind == Plan::Kind::nothing);
  const Plan one = learned({"env_vars.OLD"});
  CHECK(one.kind == Plan::Kind::patch);
  CHECK(describe(one) ==
        "~ shop: change\n"
        "    ~ env_vars.OLD: (set) -> (another value)\n"
        "    costs 7 points now\n");
}

TEST_CASE("a plan says for how many containers the points are") {
  const json order = {{"name", "shop"}, {"replicas", 3}};
  std::vector<Plan> plans = {plan_for(order, live())};
  learn(plans, steps_of(plans),
        json::array({{{"fields", {"replicas"}}, {"points", 20}, {"containers", 3}}}));
  CHECK(describe(plans[0]).find("    costs 20 points now, with 3 containers\n") !=
        std::string::npos);
}

TEST_CASE("a new deployment is created, on the free tier unless another one is named") {
  const Plan plan =
      plan_for({{"name", "shop"}, {"image", "i"}, {"env_vars", {{"A", "secret"}}}}, nullptr);
  CHECK(plan.kind == Plan::Kind::create);
  CHECK(plan.body ==
        json{{"name", "shop"}, {"image", "i"}, {"tier", "free"}, {"env_vars", {{"A", "secret"}}}});
  CHECK(describe(plan).find("+ shop: create") == 0);
  CHECK(describe(plan).find("secret") == std::string::npos);
  CHECK(describe(plan).find("env_vars.A: (set)") != std::string::npos);
}

TEST_CASE("only what differs is sent") {
  const Plan plan = plan_for({{"name", "shop"},
                              {"image", "docker.io/library/shop:2"},
                              {"port", 3000},
                              {"health_path", "/healthz"}},
                             live());
  CHECK(plan.kind == Plan::Kind::patch);
  CHECK(plan.id == live().at("id"));
  CHECK(plan.body == json{{"image", "docker.io/library/shop:2"}, {"health_path", "/healthz"}});
  CHECK(describe(plan) ==
        "~ shop: change\n"
        "    ~ image: docker.io/library/shop:1 -> docker.io/library/shop:2\n"
        "    ~ health_path: none -> /healthz\n");
}

TEST_CASE("labels are the whole set, and texts") {
  const auto of = [](const std::string& labels) {
    return plan_for(
        parse_orders("name: shop\nimage: docker.io/library/shop:1\n" + labels, "berth.yaml").at(0),
        live());
  };
  CHECK(of("labels: {stage: test, version: 1.10}").body ==
        json{{"labels", {{"stage", "test"}, {"version", "1.10"}}}});
  CHECK(of("labels: {team: red}").kind == Plan::Kind::nothing);
  CHECK(of("").kind == Plan::Kind::nothing);
  CHECK(of("labels:").body == json{{"labels", json::object()}});
  CHECK(describe(of("labels: {}")).find("labels") != std::string::npos);
}

TEST_CASE("fields that are left out stay, and null removes them") {
  CHECK(plan_for({{"name", "shop"}, {"image", "docker.io/library/shop:1"}}, live()).kind ==
        Plan::Kind::nothing);
  json with_domain = live();
  with_domain["custom_domain"] = "shop.example.com";
  const json kept = {{"name", "shop"}, {"image", "docker.io/library/shop:1"}};
  CHECK(plan_for(kept, with_domain).kind == Plan::Kind::nothing);
  json given_up = kept;
  given_up["custom_domain"] = nullptr;
  CHECK(plan_for(given_up, with_domain).body == json{{"custom_domain", nullptr}});
}

TEST_CASE("variables are a complete set whose values can't be compared") {
  const Plan plan = plan_for({{"name", "shop"},
                              {"image", "docker.io/library/shop:1"},
                              {"env_vars", {{"LOG_LEVEL", "debug"}, {"NEW", "1"}}}},
                             live());
  CHECK(plan.body == json{{"env_vars", {{"LOG_LEVEL", "debug"}, {"NEW", "1"}, {"OLD", nullptr}}}});
  CHECK(plan.unseen == std::vector<std::string>{"env_vars.LOG_LEVEL"});
  CHECK(describe(plan) ==
        "~ shop: change\n"
        "    + env_vars.NEW: (set)\n"
        "    - env_vars.OLD\n"
        "    = env_vars.LOG_LEVEL: is sent again, but changes only if it differs\n");
}

TEST_CASE("registry credentials are sent and never shown") {
  const json order = {{"name", "shop"},
                      {"image", "docker.io/library/shop:1"},
                      {"registry_credentials", {{"username", "u"}, {"password", "hidden"}}}};
  CHECK(plan_for(order, live()).body.at("registry_credentials").at("password") == "hidden");
  CHECK(describe(plan_for(order, live())).find("hidden") == std::string::npos);
  CHECK(describe(plan_for(order, nullptr)).find("hidden") == std::string::npos);
}
