// Members of an app and personal tokens with the client.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

TEST_CASE("somebody is invited, accepts, gets another role, and is removed") {
  const Berthd berthd;
  const Person ada(berthd), grace(berthd);
  ada.settle_in("ada");
  grace.settle_in("grace");
  CHECK(ada.berth({"members", "invite", "grace", "--role", "king"}).code == 2);
  ada.must({"members", "invite", "grace", "--role", "viewer"});
  CHECK(ada.must({"members", "list"}).out.find("viewer") != std::string::npos);
  grace.must({"invitations", "accept", "Game of ada"});
  ada.must({"members", "role", "grace", "developer"});
  const json body = ada.must({"members", "list", "-o", "json"}).body();
  CHECK(body.at("members").at(1).at("role") == "developer");
  CHECK(body.at("invitations").empty());
  CHECK(ada.berth({"members", "remove", "grac", "--yes"}).code == 5);
  ada.must({"members", "remove", "grace", "--yes"});
  CHECK(ada.must({"members", "list", "-o", "json"}).body().at("members").size() == 1);
}

TEST_CASE("a personal token is printed alone, used, and revoked") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const std::string token =
      ada.must({"tokens", "create", "ci", "--scopes", "deploy:read", "--password-stdin"},
               Person::password())
          .out;
  CHECK(token.starts_with("pat_live_"));
  CHECK(token.find('\n') == token.size() - 1);
  const std::string shown = token.substr(0, token.size() - 1);
  CHECK(ada.berth({"list"}, "", {{"BERTH_TOKEN", shown}}).code == 0);
  ada.must({"tokens", "revoke", "ci", "--yes"});
  CHECK(ada.berth({"list"}, "", {{"BERTH_TOKEN", shown}}).code == 3);
}
