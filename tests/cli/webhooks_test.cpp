// Webhooks with the client.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::eventually;

TEST_CASE("a webhook's life: create, list, update, test, rotate, delete") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const std::string url = "https://hooks.example.org/berth";
  const json made = ada.must({"webhooks", "create", url, "--events",
                              "deployment.status,billing.warning", "-o", "json"})
                        .body();
  const std::string secret = made.at("webhook").at("secret");
  CHECK_FALSE(secret.empty());
  const Ran list = ada.must({"webhooks", "list"});
  CHECK(list.out.find("deployment.status, billing.warning") != std::string::npos);
  CHECK(list.out.find(secret) == std::string::npos);

  ada.must({"webhooks", "update", url, "--events", "deployment.status"});
  CHECK(ada.must({"webhooks", "list"}).out.find("billing.warning") == std::string::npos);
  ada.must({"webhooks", "test", url});
  CHECK(eventually([&] {
    return !ada.must({"webhooks", "deliveries", url, "-o", "json"}).body().at("deliveries").empty();
  }));
  const json rotated = ada.must({"webhooks", "rotate-secret", url, "--yes", "-o", "json"}).body();
  CHECK(rotated.at("webhook").at("secret") != secret);
  CHECK(ada.berth({"webhooks", "create", url, "--events", "no.such.event"}).code == 7);
  CHECK(ada.berth({"webhooks", "update", url}).code == 2);
  CHECK(ada.berth({"webhooks", "delete", url}).code == 2);  // nobody to ask
  const Ran wrong = ada.berth({"webhooks", "delete", url + "s", "--yes"});
  CHECK(wrong.code == 5);
  CHECK(wrong.err.find("did you mean " + url) != std::string::npos);
  ada.must({"webhooks", "delete", url, "--yes"});
  CHECK(ada.must({"webhooks", "list", "-o", "json"}).body().at("total") == 0);
}

TEST_CASE("an address is one webhook's only") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const std::string url = "https://hooks.example.org/berth";
  ada.must({"webhooks", "create", url, "--events", "deployment.status"});
  CHECK(ada.berth({"webhooks", "create", url, "--events", "billing.failed"}).code == 7);
  CHECK(ada.must({"webhooks", "list", "-o", "json"}).body().at("total") == 1);
}
