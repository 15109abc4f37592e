#include "cli/deploy_plan.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "cli/failure.h"

using berth::cli::describe;
using berth::cli::Exit;
using berth::cli::Failure;
using berth::cli::json;
using berth::cli::parse_env;
using berth::cli::parse_env_file;
using berth::cli::parse_orders;
using berth::cli::Plan;
using berth::cli::plan_for;

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

TEST_CASE("environment variables are only replaced in values") {
  ::setenv("BERTH_TEST_SECRET", "s3cr$t", 1);
  ::setenv("BERTH_TEST_EMPTY", "", 1);
  const auto orders = parse_orders(
      "name: a\nimage: '${BERTH_TEST_SECRET}'\nenv:\n  A: 'x${BERTH_TEST_SECRET}y'\n  B: '$${A} "
      "$C'\n"
      "  C: '${BERTH_TEST_EMPTY}'\n",
      "f");
  CHECK(orders[0].at("env_vars") == json{{"A", "xs3cr$ty"}, {"B", "${A} $C"}, {"C", ""}});
  CHECK(orders[0].at("image") == "${BERTH_TEST_SECRET}");
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

TEST_CASE("a variable has a value, or takes the one from the environment") {
  ::setenv("BERTH_TEST_VALUE", "a=b", 1);
  CHECK(parse_env("A=b=c") == std::pair<std::string, std::string>("A", "b=c"));
  CHECK(parse_env("BERTH_TEST_VALUE").second == "a=b");
  CHECK(parse_env("A=").second.empty());
  for (const char* text : {"", "=x", "1A=x", "A-B=x", "BERTH_TEST_IS_NOT_SET"})
    CHECK(exit_of([&] { parse_env(text); }) == Exit::usage);
}

TEST_CASE("a file of variables has comments, empty lines and quotes") {
  CHECK(parse_env_file("# one\nA=1\r\n\nB=\"two words\"\nC='x=y'\nD=\n", "f") ==
        json{{"A", "1"}, {"B", "two words"}, {"C", "x=y"}, {"D", ""}});
  try {
    parse_env_file("A=1\nnonsense\n", "my.env");
    FAIL("taken");
  } catch (const Failure& failure) {
    CHECK(std::string(failure.what()).find("my.env, line 2") != std::string::npos);
  }
  CHECK_THROWS_WITH(parse_env_file("NAME=caf\xe9\n", "my.env"), "my.env isn't UTF-8");
}
