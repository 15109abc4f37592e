// Alerts with the client.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::eventually;

TEST_CASE("an alert's life: create, list, update, test, delete") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const std::string url = "https://discord.example.org/api/webhooks/1/very-secret";
  const json made = ada.must({"alerts", "create", "discord", "--url", url, "--name", "Team",
                              "--events", "deployment.failed,balance.low", "-o", "json"})
                        .body();
  CHECK(made.at("alert").at("app_id").is_null());
  CHECK(made.at("alert").at("secret").is_null());
  const Ran list = ada.must({"alerts", "list"});
  CHECK(list.out.find("deployment.failed, balance.low") != std::string::npos);
  CHECK(list.out.find("discord.example.org") != std::string::npos);
  CHECK(list.out.find("very-secret") == std::string::npos);

  ada.must({"alerts", "update", "Team", "--events", "budget.reached", "--for", "Game of ada"});
  const json changed = ada.must({"alerts", "list", "-o", "json"}).body().at("alerts").at(0);
  CHECK(changed.at("events") == json::array({"budget.reached"}));
  CHECK(changed.at("app_id").is_string());
  ada.must({"alerts", "update", "Team", "--for-all"});
  CHECK(
      ada.must({"alerts", "list", "-o", "json"}).body().at("alerts").at(0).at("app_id").is_null());

  CHECK(ada.berth({"alerts", "create", "pigeon", "--events", "balance.low"}).code == 2);
  CHECK(ada.berth({"alerts", "create", "slack", "--events", "balance.low"}).code == 7);  // no URL
  CHECK(ada.berth({"alerts", "create", "mail", "--events", "no.such.event"}).code == 7);
  CHECK(ada.berth({"alerts", "update", "Team"}).code == 2);
  CHECK(ada.berth({"alerts", "delete", "Team"}).code == 2);  // nobody to ask
  const Ran wrong = ada.berth({"alerts", "delete", "Teams", "--yes"});
  CHECK(wrong.code == 5);
  CHECK(wrong.err.find("did you mean Team") != std::string::npos);
  ada.must({"alerts", "delete", "Team", "--yes"});
  CHECK(ada.must({"alerts", "list", "-o", "json"}).body().at("total") == 0);
}

TEST_CASE("a test of an alert by mail is a mail to the account's address") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"alerts", "create", "mail", "--name", "Letters", "--events", "balance.low"});
  ada.must({"alerts", "test", "Letters"});
  CHECK(eventually([&] {
    return ada.must({"alerts", "list", "-o", "json"})
        .body()
        .at("alerts")
        .at(0)["last_sent_at"]
        .is_string();
  }));
}
