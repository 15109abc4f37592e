// What the platform's admins do with the client.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

constexpr int usage = 2;
constexpr int forbidden = 4;
constexpr int not_found = 5;

berth::process::Variables secret_of(const Berthd& berthd) {
  return {{"BERTH_INTERNAL_SECRET", berthd.internal_secret()}};
}

void register_only(const Person& person, const std::string& name) {
  person.must(
      {"register", "--email", name + "@example.org", "--username", name, "--password-stdin"},
      Person::password());
}

}  // namespace

TEST_CASE("approve --all shows who asks for what, and asks before it gives it") {
  const Berthd berthd;
  const Person ada(berthd);
  register_only(ada, "ada");
  ada.must({"apps", "create", "Chess", "--scopes", "deploy:manage"});
  const auto pending = [&] { return ada.admin({"requests", "-o", "json"}).body().at("total"); };

  const Ran alone = ada.berth({"admin", "approve", "--all"}, "", secret_of(berthd));
  CHECK(alone.code == usage);
  CHECK(alone.err.find("Chess of ada asks for deploy:manage") != std::string::npos);
  CHECK(pending() == 1);
  CHECK(ada.at_terminal({"admin", "approve", "--all"}, "\n", secret_of(berthd)).code == 1);
  CHECK(pending() == 1);
  const Ran yes = ada.at_terminal({"admin", "approve", "--all"}, "y\n", secret_of(berthd));
  CHECK(yes.code == 0);
  CHECK(yes.out.find("Chess of ada asks for deploy:manage") != std::string::npos);
  CHECK(pending() == 0);
  CHECK(ada.admin({"approve", "--all"}).code == 0);  // nothing waits, so nobody is asked
}

TEST_CASE("a number of points that can't be is refused in one short sentence") {
  const Berthd berthd;
  const Person ada(berthd);
  for (const char* points : {"-5", "0", "1.5", "abc", "9007199254740992", "99999999999999999999"}) {
    CAPTURE(points);
    const Ran ran = ada.berth({"admin", "mint", points, "--reason", "x"}, "", secret_of(berthd));
    CHECK(ran.code == usage);
    CHECK(ran.err.find("a whole number from 1 to 9007199254740991") != std::string::npos);
    CHECK(ran.err.size() < 250);
  }
}

TEST_CASE("a file that holds more than the secret is refused before it is sent") {
  const Berthd berthd;
  const Person ada(berthd);
  const berth::process::TempDir dir;
  const auto with = [&](const std::string& content) {
    return ada.berth({"admin", "treasury", "--secret-file", dir.write("secret", content)});
  };
  const Ran lines = with(berthd.internal_secret() + "\nX-Evil: 1\n");
  CHECK(lines.code == usage);
  CHECK(lines.err.find("more than one line") != std::string::npos);
  CHECK(with("\n").code == usage);
  CHECK(with(berthd.internal_secret() + "\r\n").code == 0);
  CHECK(with("wrong").code == forbidden);
}

TEST_CASE("users are listed, found, promoted, suspended and let in again") {
  const Berthd berthd;
  const Person admin(berthd);
  const Person ada(berthd);
  const Person bob(berthd);
  register_only(ada, "ada");
  register_only(bob, "bob");
  CHECK(admin.admin({"users", "list"}).out.find("bob@example.org") != std::string::npos);
  const json found = admin.admin({"users", "list", "--search", "ad", "-o", "json"}).body();
  REQUIRE(found.at("users").size() == 1);
  CHECK(admin.admin({"users", "list", "--limit", "1", "-o", "json"}).body().at("users").size() ==
        1);
  admin.admin({"users", "promote", "ada", "--admin"});
  CHECK(admin.admin({"users", "list", "--search", "ada", "-o", "json"})
            .body()
            .at("users")
            .at(0)
            .at("is_admin") == true);
  const std::string ended = admin.admin({"users", "end-sessions", "bob", "--yes"}).out;
  CHECK(ended.find("1 sessions, 0 programs and 0 apps") != std::string::npos);
  CHECK(bob.berth({"whoami"}).code == 3);
  bob.must({"login", "--email", "bob@example.org", "--password-stdin"}, Person::password());
  admin.admin({"suspend", "user", "bob@example.org", "--yes"});
  CHECK(bob.berth({"whoami"}).code == forbidden);
  admin.admin({"reactivate", "user", "bob"});
  CHECK(bob.must({"login", "--email", "bob@example.org", "--password-stdin"}, Person::password())
            .code == 0);
  const Ran nobody =
      admin.berth({"admin", "suspend", "user", "carol", "--yes"}, "", secret_of(berthd));
  CHECK(nobody.code == not_found);
}

TEST_CASE("an app and a deployment are suspended and work again") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image, "--wait"});
  const json row = ada.must({"deploy", "get", "shop", "-o", "json"}).body();
  ada.admin({"suspend", "deployment", row.at("id"), "--yes"});
  CHECK(ada.berth({"deploy", "restart", "shop"}).code == forbidden);
  ada.admin({"reactivate", "deployment", row.at("id")});
  ada.must({"deploy", "status", "shop", "--wait"});
  ada.admin({"suspend", "app", row.at("app_id"), "--yes"});
  CHECK(ada.berth({"deploy", "list"}).code != 0);
  ada.admin({"reactivate", "app", row.at("app_id")});
  ada.must({"deploy", "list"});
}

TEST_CASE("treasury, ledger, audit log, orphans and outbox are shown") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.admin({"mint", "70", "--reason", "thanks"});
  const json treasury = ada.admin({"treasury", "-o", "json"}).body();
  CHECK(treasury.at("minted").get<std::int64_t>() >= 70);
  CHECK(ada.admin({"ledger"}).out.find("points in and out give its balance") != std::string::npos);
  CHECK(ada.admin({"ledger", "-o", "json"}).body().at("ok") == true);
  CHECK(ada.admin({"audit"}).out.find("points.mint") != std::string::npos);
  CHECK(ada.admin({"audit", "--limit", "1", "-o", "json"}).body().at("entries").size() == 1);
  const std::string csv = ada.admin({"audit", "--action", "points.mint", "--format", "csv"}).out;
  CHECK(csv.find("id,number,") == 0);
  CHECK(csv.find("points.mint") != std::string::npos);
  CHECK(ada.admin({"audit", "--check"}).out.find("Nothing was removed or changed") == 0);
  const std::string own = ada.must({"audit"}).out;
  CHECK(own.find("login") != std::string::npos);
  CHECK(own.find("points.mint") == std::string::npos);
  CHECK(ada.must({"audit", "--format", "jsonl", "--action", "register"}).out.find("\"register\"") !=
        std::string::npos);
  CHECK(ada.admin({"orphans"}).out == "There are none.\n");
  CHECK(ada.admin({"isolation"}).out == "isolation is simulated\n");
  CHECK(ada.admin({"isolation", "-o", "json"}).body().at("paths").empty());
  CHECK(ada.admin({"outbox"}).out.find("ada@example.org") != std::string::npos);
}

TEST_CASE("tiers are made and changed, and words filtered") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.admin({"tiers", "create", "large", "--name", "Large", "--memory-mb", "128", "--cpu", "200",
             "--price", "50", "--auto-approve", "true"});
  ada.admin({"tiers", "update", "large", "--price", "60", "--runtime-class", "gvisor",
             "--bandwidth", "50"});
  ada.admin({"tiers", "update", "large", "--bandwidth", "0", "--smtp", "true"});
  const json tiers = ada.admin({"tiers", "list", "-o", "json"}).body().at("tiers");
  const auto large = std::find_if(tiers.begin(), tiers.end(),
                                  [](const json& t) { return t.at("slug") == "large"; });
  REQUIRE(large != tiers.end());
  CHECK(large->at("monthly_cost_points") == 60);
  CHECK(large->at("memory_limit_mb") == 128);
  CHECK(large->at("auto_approve") == true);

  ada.admin({"words", "add", "darn", "heck"});
  ada.admin({"words", "remove", "heck"});
  CHECK(ada.admin({"words", "list"}).out == "darn\n");
}

TEST_CASE("scopes are taken away from an app after a question") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada", "deploy:manage,points:spend");
  ada.must({"deploy", "list"});
  const Ran alone =
      ada.berth({"admin", "revoke", "deploy:manage,points:spend"}, "", secret_of(berthd));
  CHECK(alone.code == usage);
  ada.must({"deploy", "list"});
  const json app =
      ada.admin({"revoke", "deploy:manage,points:spend", "--yes", "-o", "json"}).body().at("app");
  const json left = app.at("approved_scopes");
  CHECK(std::find(left.begin(), left.end(), "deploy:manage") == left.end());
  CHECK(std::find(left.begin(), left.end(), "points:spend") == left.end());
  CHECK(ada.berth({"deploy", "list"}).code == forbidden);
  const Ran again = ada.admin({"revoke", "campaigns:manage", "--for", app.at("id"), "--yes"});
  CHECK(again.out.find("no longer has campaigns:manage") != std::string::npos);
}

TEST_CASE("sessions live on when the key for new ones is rotated") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const json first = ada.admin({"rotate-session-key", "-o", "json"}).body();
  const json second = ada.admin({"rotate-session-key", "-o", "json"}).body();
  CHECK(first.at("kid") != second.at("kid"));
  ada.must({"account", "show"});
}

TEST_CASE("the clock is shown and moved ahead, and other durations are refused") {
  const Berthd berthd;
  const Person ada(berthd);
  const auto ahead = [&](const Words& more) {
    Words words = {"clock", "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return ada.admin(words).body().at("ahead_seconds").get<double>();
  };
  const double before = ahead({});
  CHECK(ahead({"--advance", "2h"}) >= before + 7200);
  CHECK(ahead({"--advance", "1d"}) >= before + 7200 + 86'400);
  CHECK(ada.admin({"clock"}).out.find("Seconds ahead:") != std::string::npos);
  for (const char* duration : {"-5s", "soon", "1y"}) {
    INFO(duration);
    CHECK(ada.berth({"admin", "clock", "--advance", duration}, "", secret_of(berthd)).code != 0);
  }
}

TEST_CASE("a message of the chat is deleted by its id") {
  const Berthd berthd;
  const Person ada(berthd);
  const std::string unknown = "01936f5e-7c1a-7000-8000-00000000000c";
  CHECK(ada.berth({"admin", "delete-message", "hello", "--yes"}, "", secret_of(berthd)).code ==
        usage);
  CHECK(ada.berth({"admin", "delete-message", unknown}, "", secret_of(berthd)).code == usage);
  CHECK(ada.berth({"admin", "delete-message", unknown, "--yes"}, "", secret_of(berthd)).code ==
        not_found);

  register_only(ada, "ada");
  const json login = ada.must({"api", "POST", "/api/auth/login", "--as", "nobody", "-f",
                               "email=ada@example.org", "-f", "password=" + Person::password()})
                         .body();
  const auto api = [&](Words words) {
    const std::string token = "Authorization: Bearer " + login.at("token").get<std::string>();
    words.insert(words.begin(), "api");
    words.insert(words.end(), {"--as", "nobody", "-H", token});
    return ada.must(words).body();
  };
  const std::string channels = "/api/social/chat/channels";
  const json channel =
      api({"POST", channels, "-f", "type=lobby", "-f", "ref_id=lobby-1"}).at("channel");
  const std::string path = channels + "/" + channel.at("id").get<std::string>();
  api({"POST", path + "/members/me"});
  const json message = api({"POST", path + "/messages", "-f", "body=hello"}).at("message");
  ada.admin({"delete-message", message.at("id"), "--yes"});
  CHECK(api({"GET", path + "/messages"}).at("messages").empty());
}
