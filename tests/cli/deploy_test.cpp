// Deployments with the client, against the real berthd on the simulated cluster.
#include <catch2/catch.hpp>

#include "controller/base/container_spec.h"
#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::eventually;

namespace {

constexpr int failed = 1;
constexpr int usage = 2;
constexpr int forbidden = 4;
constexpr int not_found = 5;
constexpr int conflict = 6;
constexpr int invalid = 7;
constexpr int unavailable = 8;
constexpr int timed_out = 9;

const char* const well = "docker.io/library/hello:1";

Words create(const std::string& name, const std::string& image, const Words& more = {}) {
  Words words = {"deploy", "create", name, "--image", image};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("a deployment's life: create, show, update, stop, restart, delete") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const Ran created = ada.must(create("shop", well, {"--wait", "--env", "A=1", "--env", "B=2"}));
  CHECK(created.out.find("shop is running at http://shop.apps.localhost:") == 0);
  CHECK(created.err.find("running") != std::string::npos);
  CHECK(ada.must({"deploy", "list"}).out.find("shop") != std::string::npos);
  const json row = ada.must({"deploy", "get", "shop", "-o", "json"}).body();
  CHECK(row.at("env_keys") == json{"A", "B"});
  CHECK(ada.must({"deploy", "get", row.at("id"), "-o", "yaml"}).out.find("name: shop") !=
        std::string::npos);
  CHECK(ada.must({"deploy", "open", "shop", "--print"}).out ==
        row.at("url").get<std::string>() + "\n");

  ada.must({"deploy", "update", "shop", "--image", "docker.io/library/hello:2", "--unset-env", "A",
            "--wait"});
  const json changed = ada.must({"deploy", "get", "shop", "-o", "json"}).body();
  CHECK(changed.at("container_image") == "docker.io/library/hello:2");
  CHECK(changed.at("env_keys") == json{"B"});

  CHECK(ada.must({"deploy", "stop", "shop"}).out == "shop is stopped.\n");
  CHECK(ada.berth({"deploy", "status", "shop", "--wait"}).code == failed);
  ada.must({"deploy", "restart", "shop", "--wait"});
  CHECK(ada.must({"deploy", "history", "shop"}).out.find("restart") != std::string::npos);
  CHECK(ada.berth({"deploy", "delete", "shop"}).code == usage);
  ada.must({"deploy", "delete", "shop", "--yes"});
  CHECK(ada.berth({"deploy", "get", "shop"}).code == not_found);
}

TEST_CASE("each field of a container has a flag, a key in berth.yaml and a line in the output") {
  using berth::deployments::container_fields;
  using Kind = berth::deployments::ContainerField::Kind;
  const Berthd berthd(berth::process::roomy_tier());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must(create("shop", well));
  const json before = ada.must({"deploy", "get", "shop", "-o", "json"}).body();
  json file = {{"name", "shop"}};
  Words set = {"deploy", "update", "shop"};
  Words unset = set;
  for (const auto& field : container_fields) {
    const json example = json::parse(field.in_change.example);
    const std::string flag(field.flag.substr(0, field.flag.find(',')));
    file[std::string(field.name)] = example;
    for (const json& value : field.kind() == Kind::texts ? example : json::array({example}))
      set.insert(set.end(), {flag, value.is_string() ? value.get<std::string>() : value.dump()});
    if (field.is_removable()) unset.insert(unset.end(), {flag, "none"});
  }
  ada.must(set);
  const json row = ada.must({"deploy", "get", "shop", "-o", "json"}).body();
  const std::string shown = ada.must({"deploy", "get", "shop"}).out;
  for (const auto& field : container_fields) {
    INFO(field.name);
    const json& value = row.at(std::string(field.answered_as));
    CHECK(value == file.at(std::string(field.name)));
    CHECK(shown.find(std::string(field.title) + ":") != std::string::npos);
    const std::string as_text = value.is_string() ? value.get<std::string>() : value.dump();
    CHECK(shown.find(value.is_boolean() ? "yes" : as_text) != std::string::npos);
  }
  const berth::process::TempDir dir;
  const Words up = {"deploy", "up", "--yes", "-f", dir.write("berth.yaml", file.dump())};
  CHECK(ada.must(up).out == "  shop: nothing to change\n");
  ada.must(unset);
  const json without = ada.must({"deploy", "get", "shop", "-o", "json"}).body();
  for (const auto& field : container_fields)
    if (field.is_removable()) {
      const std::string name(field.answered_as);
      CHECK(without.at(name) == before.at(name));
    }
  CHECK(ada.must(up).err.find("~ shop: change") != std::string::npos);
  CHECK(ada.must(up).out == "  shop: nothing to change\n");
}

TEST_CASE("a deployment that fails ends --wait with the reason and advice") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const Ran crash = ada.berth(create("crash", "docker.io/library/crash:1", {"--wait"}));
  CHECK(crash.code == failed);
  CHECK(crash.err.find("crash_loop") != std::string::npos);
  CHECK(crash.err.find("berth deploy logs") != std::string::npos);
  // The cluster takes some seconds to notice that nothing listens.
  const Ran late =
      ada.berth(create("late", "docker.io/library/wrong-port:1", {"--wait", "--timeout", "1"}));
  CHECK(late.code == timed_out);
  CHECK(late.err.find("berth deploy status") != std::string::npos);
}

TEST_CASE("each way to fail has its exit code") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  const Person bob(berthd);
  ada.settle_in("ada");
  bob.settle_in("bob");
  ada.must(create("shop", well));
  const std::string id = ada.must({"deploy", "get", "shop", "-o", "json"}).body().at("id");

  CHECK(ada.berth({}).code == usage);
  CHECK(ada.berth({"deploy", "create", "shop"}).code == usage);
  CHECK(ada.berth({"deploy", "list", "-o", "xml"}).code == usage);
  CHECK(ada.berth({"nonsense"}).code == usage);
  CHECK(ada.berth({"deploy", "list", "--server", "berth"}).code == usage);
  CHECK(bob.berth({"deploy", "get", id}).code == forbidden);
  CHECK(ada.berth({"deploy", "get", "absent"}).code == not_found);
  CHECK(ada.berth({"deploy", "get", "01936f5e-7c1a-7000-8000-000000000005"}).code == not_found);
  CHECK(bob.berth(create("shop", well)).code == conflict);
  CHECK(ada.berth(create("other", "quay.io/x:1")).code == invalid);
  const Ran refused = ada.berth(create("Not_A_Name", well));
  CHECK(refused.code == invalid);
  CHECK(refused.err.find("name") != std::string::npos);
  CHECK(ada.berth({"deploy", "list"}, "", {{"BERTH_URL", "http://127.0.0.1:1"}}).code == 3);
  CHECK(ada.berth({"login", "--email", "a@example.org", "--password-stdin", "--server",
                   "http://127.0.0.1:1"},
                  "x")
            .code == unavailable);
  CHECK(ada.berth({"--help"}).code == 0);
  CHECK(ada.berth({"--version"}).out.find("berth ") == 0);
}

TEST_CASE("up creates, then changes what differs, then has nothing to do") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const berth::process::TempDir dir;
  const auto file = dir.write("berth.yaml",
                              "deployments:\n"
                              "- {name: one, image: 'docker.io/library/hello:1'}\n"
                              "- name: two\n"
                              "  image: docker.io/library/hello:1\n"
                              "  env_vars: {SECRET: '${SHOP_SECRET}'}\n");
  const berth::process::Variables secret = {{"SHOP_SECRET", "hidden-value"}};
  const Words up = {"deploy", "up", "-f", file};
  const auto with = [&](const Words& more) {
    Words words = up;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  CHECK(ada.berth(up).code == usage);  // the variable isn't set
  const Ran dry = ada.must(with({"--dry-run"}), "", secret);
  CHECK(dry.out.find("+ two: create") != std::string::npos);
  CHECK(dry.out.find("hidden-value") == std::string::npos);
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("deployments").empty());
  CHECK(ada.berth(up, "", secret).code == usage);  // nobody can be asked

  const json made = ada.must(with({"--yes", "--wait", "-o", "json"}), "", secret).body();
  REQUIRE(made.at("deployments").size() == 2);
  for (const json& row : made.at("deployments")) CHECK(row.at("status") == "running");

  dir.write("berth.yaml",
            "deployments:\n"
            "- {name: one, image: 'docker.io/library/hello:1'}\n"
            "- {name: two, image: 'docker.io/library/hello:2', env_vars: {OTHER: 1}}\n");
  const Ran changed = ada.must(with({"--yes", "--wait"}));
  CHECK(changed.err.find("  one: nothing to change") != std::string::npos);
  CHECK(changed.err.find("~ image: docker.io/library/hello:1 -> docker.io/library/hello:2") !=
        std::string::npos);
  const json two = ada.must({"deploy", "get", "two", "-o", "json"}).body();
  CHECK(two.at("env_keys") == json{"OTHER"});
  CHECK(two.at("container_image") == "docker.io/library/hello:2");

  dir.write("berth.yaml", "name: two\nimage: docker.io/library/hello:2\n");
  CHECK(ada.must(up).out == "  two: nothing to change\n");
}

TEST_CASE("the client waits for a rate limit") {
  const Berthd berthd(berth::process::roomy_tier());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"tiers"});
  // 30 per minute are allowed, so the last ones have to wait until the first are a minute old.
  berth::process::Client client(berthd, ada.tokens().at("access_token"));
  for (int i = 0; i < 40; ++i) client.get("/api/deploy/tiers");
  const auto waits = ada.start({"tiers"});
  REQUIRE(eventually([&] { return waits->err().find("trying again in") != std::string::npos; }));
  waits->interrupt();
  waits->wait();
}

TEST_CASE("variables come from a file or the environment, not only from the command line") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const berth::process::TempDir dir;
  const std::string file = dir.write("app.env", "FROM_FILE=1\n");
  ada.must(create("shop", well, {"--env-file", file, "--env", "FROM_HERE"}), "",
           {{"FROM_HERE", "x"}});
  CHECK(ada.must({"deploy", "get", "shop", "-o", "json"}).body().at("env_keys") ==
        json{"FROM_FILE", "FROM_HERE"});
  CHECK(ada.berth(create("other", well, {"--env", "NOT_SET"})).code == usage);
}

TEST_CASE("if one of several deployments is refused, it is named, and nothing is done") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const Ran ran = ada.berth({"deploy", "up", "--yes", "-f", "-"},
                            "deployments:\n- {name: one, image: 'docker.io/library/one:1'}\n"
                            "- {name: two, image: 'registry.example.org/two:1'}\n");
  CHECK(ran.code == 7);
  CHECK(ran.err.find("berth: two: ") != std::string::npos);
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("total") == 0);
}
