// The account, its sessions and its second factor with the client.
#include <catch2/catch.hpp>
#include <ctime>

#include "tests/cli/person.h"
#include "tests/totp.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

constexpr int not_logged_in = 3;

Words login(const std::string& name) {
  return {"login", "--email", name + "@example.org", "--password-stdin"};
}

}  // namespace

TEST_CASE("the account is shown, renamed and gets another password") {
  const Berthd berthd;
  const Person ada(berthd);
  const Person elsewhere(berthd);
  ada.settle_in("ada");
  elsewhere.must(login("ada"), Person::password());
  CHECK(ada.must({"account", "show"}).out.find("ada@example.org") != std::string::npos);
  CHECK(ada.must({"account", "rename", "lovelace"}).out == "You are lovelace now.\n");
  const std::string fresh = "another horse battery";
  const std::string middle = "staple battery horse";
  ada.must({"account", "password", "--keep-others", "--password-stdin"},
           Person::password() + "\n" + middle + "\n");
  elsewhere.must({"account", "show"});
  ada.must({"account", "password", "--password-stdin"}, middle + "\n" + fresh + "\n");
  CHECK(elsewhere.berth({"account", "show"}).code == not_logged_in);
  CHECK(ada.berth(login("ada"), Person::password()).code == not_logged_in);
  ada.must(login("ada"), fresh);
}

TEST_CASE("connected apps are listed, limited and disconnected") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "list"});  // the app gets its token
  CHECK(ada.must({"account", "apps"}).out.find("Game of ada") != std::string::npos);
  const Ran limited =
      ada.must({"account", "limit", "Game of ada", "--daily-spend", "100", "--access", "read"});
  CHECK(limited.out.find("may spend 100 points a day") != std::string::npos);
  CHECK(ada.must({"account", "limit", "Game of ada", "--daily-spend", "none"})
            .out.find("any number of points") != std::string::npos);
  CHECK(ada.berth({"account", "limit", "Game of ada"}).code == 2);
  CHECK(ada.berth({"account", "disconnect", "Game of adda", "--yes"}).err.find("did you mean") !=
        std::string::npos);
  ada.must({"account", "disconnect", "Game of ada", "--yes"});
  CHECK(ada.must({"account", "apps", "-o", "json"}).body().at("total") == 0);
}

TEST_CASE("sessions are listed and ended") {
  const Berthd berthd;
  const Person ada(berthd);
  const Person second(berthd);
  const Person third(berthd);
  ada.settle_in("ada");
  second.must(login("ada"), Person::password());
  third.must(login("ada"), Person::password());
  const json sessions = ada.must({"sessions", "list", "-o", "json"}).body().at("sessions");
  REQUIRE(sessions.size() == 3);
  for (const json& session : sessions)
    if (!session.at("current")) {
      ada.must({"sessions", "end", session.at("id")});
      break;
    }
  CHECK(ada.must({"sessions", "list", "-o", "json"}).body().at("total") == 2);
  CHECK(ada.must({"sessions", "end", "--others"}).out == "The session has ended.\n");
  CHECK(second.berth({"account", "show"}).code == not_logged_in);
  CHECK(third.berth({"account", "show"}).code == not_logged_in);
  ada.must({"account", "show"});
  CHECK(ada.berth({"sessions", "end"}).code == 2);
}

TEST_CASE("the second factor is turned on, gets new recovery codes, and is turned off") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const std::string secret = ada.must({"totp", "setup", "-o", "json"}).body().at("secret");
  const auto code = [&] { return berth::test::totp(secret, std::time(nullptr)); };
  CHECK(ada.berth({"totp", "enable"}).code == 2);  // nobody to ask
  const json enabled = ada.must({"totp", "enable", "--code", code(), "-o", "json"}).body();
  REQUIRE(enabled.at("recovery_codes").size() > 2);
  CHECK(ada.must({"account", "show", "-o", "json"}).body().at("user").at("totp_enabled") == true);
  const json again = ada.must({"totp", "recovery-codes", "--code",
                               enabled.at("recovery_codes").at(0), "-o", "json"})
                         .body();
  CHECK(again.at("recovery_codes") != enabled.at("recovery_codes"));
  const Ran off =
      ada.must({"totp", "disable", "--code", again.at("recovery_codes").at(0), "--password-stdin"},
               Person::password());
  CHECK(off.out.find("berth sessions end --others") != std::string::npos);
  CHECK(ada.must({"account", "show", "-o", "json"}).body().at("user").at("totp_enabled") == false);
}

TEST_CASE("an account is deleted with its password alone, and forgotten here") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.must({"register", "--email", "ada@example.org", "--username", "ada", "--password-stdin"},
           Person::password());
  CHECK(ada.berth({"account", "delete", "--yes", "--password-stdin"}, "wrong").code ==
        not_logged_in);
  ada.must({"account", "show"});
  ada.must({"account", "delete", "--yes", "--password-stdin"}, Person::password());
  CHECK(ada.berth({"account", "show"}).code == not_logged_in);
  CHECK(ada.berth(login("ada"), Person::password()).code == not_logged_in);
}
