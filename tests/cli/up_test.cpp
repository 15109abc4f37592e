// `berth up` against the real berthd: what differs, what the server would refuse, and what is
// stable.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

constexpr int differs = 1;
constexpr int usage = 2;
constexpr int conflict = 6;
constexpr int invalid = 7;

const std::string first_image = "docker.io/library/hello:1";

Ran up(const Person& person, const std::string& file, const Words& more = {"--yes"}) {
  Words words = {"up", "-f", "-"};
  words.insert(words.end(), more.begin(), more.end());
  return person.berth(words, file);
}

Ran check(const Person& person, const std::string& file) {
  return up(person, file, {"--dry-run", "--exit-code"});
}

json deployment(const Person& person, const std::string& name) {
  return person.must({"deploy", "get", name, "-o", "json"}).body();
}

// May have two deployments with domains of their own.
void settle_with_domains(const Person& person) {
  person.settle_in("ada", "deploy:manage,app:balance:read");
  person.admin({"mint", "9000", "--reason", "a test"});
  person.admin({"promote", "basic"});
}

}  // namespace

TEST_CASE("a dry run is one of the server, and its exit code says whether something differs") {
  // More runs than an app has in a minute.
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  const Person bob(berthd);
  ada.settle_in("ada");
  bob.settle_in("bob");
  bob.must({"deploy", "create", "taken", "--image", first_image});
  const auto file = [](const std::string& name, const std::string& more = "") {
    return "name: " + name + "\nimage: " + first_image + "\n" + more;
  };
  const Ran fresh = check(ada, file("shop"));
  CHECK(fresh.code == differs);
  CHECK(fresh.out.find("+ shop: create") == 0);
  CHECK(fresh.err.empty());
  CHECK(up(ada, file("shop"), {"--dry-run"}).code == 0);
  CHECK(up(ada, file("shop"), {"--exit-code"}).code == usage);  // it is for a dry run
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("deployments").empty());

  // What only the server knows.
  const Ran taken = check(ada, file("taken"));
  CHECK(taken.code == conflict);
  CHECK(taken.err.find("berth: taken: another deployment has the name taken") == 0);
  CHECK(check(ada, file("login")).code == invalid);
  CHECK(check(ada, "name: shop\nimage: registry.example.org/x:1\n").code == invalid);
  CHECK(check(ada, file("shop", "custom_domain: shop.example.com\n")).code == invalid);
  CHECK(check(ada, file("shop", "env_vars: {BERTH_X: y}\n")).code == invalid);
  const Ran two = check(ada, "deployments:\n- {name: taken, image: '" + first_image +
                                 "'}\n- {name: login, image: '" + first_image + "'}\n");
  CHECK(two.err.find("login: ") != std::string::npos);
  CHECK(two.err.find("berth: taken: ") != std::string::npos);
  // A field that the schema refuses is named with its deployment.
  const Ran bad = check(ada, file("shop", "labels: {'a b': c}\n"));
  CHECK(bad.code == invalid);
  CHECK(bad.err.find("shop: ") != std::string::npos);
  CHECK(bad.err.find("operations") == std::string::npos);

  // It finds refusals before anything is done, also without --dry-run.
  CHECK(up(ada, "deployments:\n- {name: shop, image: '" + first_image +
                    "'}\n- {name: taken, image: '" + first_image + "'}\n")
            .code == conflict);
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("deployments").empty());

  const std::string with_secret = file("shop", "env_vars: {PASSWORD: one}\n");
  CHECK(up(ada, with_secret).code == 0);
  const Ran same = check(ada, with_secret);
  CHECK(same.code == 0);
  CHECK(same.out == "  shop: nothing to change\n");
  const Ran other = check(ada, file("shop", "env_vars: {PASSWORD: two}\n"));
  CHECK(other.code == differs);
  CHECK(other.out.find("~ env_vars.PASSWORD: (set) -> (another value)") != std::string::npos);
  CHECK(other.out.find("two") == std::string::npos);
  CHECK(check(ada, with_secret).code == 0);  // the dry run changed nothing
}

TEST_CASE("a limit counts all deployments of the file") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const int most = ada.must({"api", "/api/deploy/sandbox-status"}).body().at("max_deployments");
  std::string file = "deployments:\n";
  for (int i = 0; i <= most; ++i)
    file += "- {name: shop" + std::to_string(i) + ", image: '" + first_image + "'}\n";
  const Ran ran = check(ada, file);
  CHECK(ran.code == invalid);
  CHECK(ran.err.find("berth: shop" + std::to_string(most) + ": ") == 0);
}

TEST_CASE("a domain with a dot at its end is stable, and a domain moves in either order") {
  const Berthd berthd;
  const Person ada(berthd);
  settle_with_domains(ada);
  const auto entry = [](const std::string& name, const std::string& domain) {
    return "- {name: " + name + ", image: '" + first_image +
           "', tier: basic, custom_domain: " + domain + "}\n";
  };
  const std::string at_first =
      "deployments:\n" + entry("one", "Shop.example.com.") + entry("two", "null");
  const Ran made = up(ada, at_first);
  CHECK(made.err.find("costs 1000 points now") != std::string::npos);
  CHECK(check(ada, at_first).code == 0);
  CHECK(deployment(ada, "one").at("custom_domain") == "shop.example.com");

  const std::string moved_down =
      "deployments:\n" + entry("one", "null") + entry("two", "shop.example.com");
  CHECK(check(ada, moved_down).code == differs);
  CHECK(up(ada, moved_down).code == 0);
  CHECK(deployment(ada, "two").at("custom_domain") == "shop.example.com");
  CHECK(check(ada, moved_down).code == 0);
  const std::string moved_up =
      "deployments:\n" + entry("one", "shop.example.com") + entry("two", "other.example.com");
  CHECK(up(ada, moved_up).code == 0);
  CHECK(deployment(ada, "one").at("custom_domain") == "shop.example.com");
  const std::string swapped =
      "deployments:\n" + entry("one", "other.example.com") + entry("two", "shop.example.com");
  CHECK(up(ada, swapped).code == 0);
  CHECK(check(ada, swapped).code == 0);
  CHECK(deployment(ada, "two").at("custom_domain") == "shop.example.com");
}

TEST_CASE("who waits learns that a deployment has failed, also when nothing is to be changed") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const std::string file = "name: shop\nimage: docker.io/library/crash:1\n";
  const int failed = up(ada, file, {"--yes", "--wait"}).code;
  CHECK(failed != 0);
  CHECK(up(ada, file, {"--yes", "--wait"}).code == failed);
  CHECK(up(ada, file, {"--yes"}).code == 0);
}

TEST_CASE("after a rollback the file wins once, and then nothing differs") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const auto file = [](int version) {
    return "name: shop\nimage: docker.io/library/hello:" + std::to_string(version) +
           "\nenv_vars: {LEVEL: '" + std::to_string(version) +
           "'}\nregistry_credentials: {username: u, password: p}\n";
  };
  for (const int version : {1, 2}) CHECK(up(ada, file(version), {"--yes", "--wait"}).code == 0);
  ada.must({"deploy", "rollback", "shop", "--wait"});
  for (const int version : {1, 2}) {
    CAPTURE(version);
    CHECK(check(ada, file(version)).code == differs);
    CHECK(up(ada, file(version), {"--yes", "--wait"}).code == 0);
    CHECK(check(ada, file(version)).code == 0);
  }
}

TEST_CASE("the dry run of the API answers for each operation and keeps nothing") {
  const Berthd berthd;
  const Person ada(berthd);
  settle_with_domains(ada);
  ada.must({"deploy", "create", "shop", "--image", first_image, "--env", "A=1"});
  const std::string id = deployment(ada, "shop").at("id");
  const auto dry = [&](const json& operations) {
    return ada
        .must({"api", "POST", "/api/deploy/dry-run", "-d", "@-"},
              json{{"operations", operations}}.dump())
        .body()
        .at("operations");
  };
  const json order = {{"name", "forum"}, {"image", first_image}, {"tier", "basic"}};
  const json answer =
      dry({{{"create", order}},
           {{"create", order}},
           {{"id", id}, {"change", {{"port", 8080}, {"env_vars", {{"A", "2"}, {"B", "3"}}}}}},
           {{"id", id}, {"change", {{"port", 8080}}}},
           {{"id", id}, {"change", {{"labels", {{"stage", "test"}}}}}},
           {{"id", "01936f5e-7c1a-7000-8000-000000000005"}, {"change", {{"port", 1}}}}});
  CHECK(answer.at(0).at("action") == "create");
  CHECK(answer.at(0).at("points") == 1000);
  CHECK(answer.at(0).at("fields") == json{"image", "port", "tier"});
  CHECK(answer.at(0).at("deployment").at("name") == "forum");
  CHECK(answer.at(1).at("refusal").at("code") == "subdomain_taken");
  CHECK(answer.at(1).at("refusal").at("status") == 409);
  CHECK(answer.at(2).at("fields") == json{"port", "env_vars.A", "env_vars.B"});
  CHECK(answer.at(2).at("replaces_container") == true);
  CHECK(answer.at(3).at("action") == "nothing");  // the operation before it has done it
  CHECK(answer.at(4).at("fields") == json{"labels"});
  CHECK(answer.at(4).at("replaces_container") == false);
  CHECK(answer.at(5).at("refusal").at("code") == "deployment_not_found");
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("deployments").size() == 1);
  CHECK(deployment(ada, "shop").at("port") == 3000);
  CHECK(ada.must({"apps", "balance"}).out == "9000 points\n");
  CHECK(ada.must({"deploy", "history", "shop", "-o", "json"}).out.find("patch") ==
        std::string::npos);
  for (const char* odd :
       {R"([])", R"([{}])", R"([{"create":{},"id":"x"}])", R"([{"id":"x"}])", R"([{"change":{}}])"})
    CHECK(ada.berth({"api", "POST", "/api/deploy/dry-run", "-d",
                     R"({"operations":)" + std::string(odd) + "}"})
              .code == invalid);
}

TEST_CASE("PORT among the variables is left out, and the answer says so") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const Ran created = ada.must({"api", "POST", "/api/deploy/apps", "-d", "@-"},
                               json{{"name", "shop"},
                                    {"image", first_image},
                                    {"tier", "free"},
                                    {"env_vars", {{"PORT", "80"}, {"A", "1"}}}}
                                   .dump());
  CHECK(created.body().at("warnings").at(0).get<std::string>().find("env_vars.PORT") == 0);
  CHECK(created.body().at("deployment").at("env_keys") == json{"A"});
  const std::string path = "/api/deploy/apps/" + created.body().at("id").get<std::string>();
  const json changed =
      ada.must({"api", "PATCH", path, "-d", R"({"env_vars":{"PORT":"81","B":"2"}})"}).body();
  CHECK(changed.at("warnings").size() == 1);
  CHECK(changed.at("env_keys") == json{"A", "B"});
  const std::string file =
      "name: shop\nimage: " + first_image + "\nenv_vars: {PORT: '82', A: '1', B: '2'}\n";
  const Ran same = check(ada, file);
  CHECK(same.code == 0);
  CHECK(same.err.find("Warning: env_vars.PORT was ignored") == 0);
  for (const char* body : {R"({"env_vars":{"PORT":null}})", R"({"port":8080})"})
    CHECK_FALSE(ada.must({"api", "PATCH", path, "-d", body}).body().contains("warnings"));
}
