// Logging in, staying logged in and logging out, with the client against the real berthd.
#include "cli/login.h"

#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <ctime>
#include <regex>

#include "cli/http.h"
#include "controller/base/url.h"
#include "tests/cli/person.h"
#include "tests/process/oauth.h"
#include "tests/process/raw.h"
#include "tests/programs.h"
#include "tests/totp.h"

using namespace berth::cli;
using berth::percent_encode;
using berth::process::Berthd;
using berth::process::eventually;
using berth::process::Flags;
using berth::process::fresh_name;
using berth::process::shared_berthd;

namespace {

constexpr int not_logged_in = 3;

const Flags unlimited = {"--rate-limits", "off"};

std::string address_in(const std::string& text) {
  std::smatch found;
  return std::regex_search(text, found, std::regex("http://\\S+/api/oauth/authorize\\S+"))
             ? found.str()
             : "";
}

std::string jwt_of(const Person& person) { return person.credentials().at("session").at("jwt"); }

// Returns the address that the browser is redirected to, obtained with the person's session in
// JSON.
std::string way_back(const Berthd& berthd, const std::string& address, const std::string& jwt) {
  berth::process::Client browser(berthd, jwt);
  return berth::process::expect(200, browser.get(address.substr(berthd.base_url().size())))
      .body.at("redirect_to");
}

// A person in a browser, who is logged in there, allows or denies a device its code.
void decide_device(const Berthd& berthd, const std::string& jwt, const std::string& code,
                   const std::string& decision) {
  berth::process::Client browser(berthd);
  std::string cookies = "berth_session=" + jwt;
  const auto first = berth::process::expect(200, browser.get("/device", {{"Cookie", cookies}}));
  const std::string form = first.header("Set-Cookie");
  cookies += "; " + form.substr(0, form.find(';'));
  std::smatch csrf;
  REQUIRE(std::regex_search(first.text, csrf, std::regex("name=\"csrf\" value=\"([^\"]*)\"")));
  berth::process::expect(200, berth::process::post_form(
                                  browser, "/device/decide",
                                  {{"csrf", csrf[1]}, {"user_code", code}, {"decision", decision}},
                                  {{"Cookie", cookies}}));
}

std::string user_code_in(const std::string& text) {
  std::smatch found;
  return std::regex_search(text, found, std::regex("[A-Z]{4}-[A-Z]{4}")) ? found.str() : "";
}

HttpResponse browse(const std::string& url) { return perform({.url = url}); }

void forget_session(const Person& person) {
  person.change_credentials([](json& account) { account.erase("session"); });
}
void forget_tokens(const Person& person) {
  person.change_credentials([](json& account) {
    account.at("apps").at(account.at("current").get<std::string>()).erase("tokens");
  });
}
void let_token_end(const Person& person) {
  person.change_credentials([](json& account) {
    account.at("apps").at(account.at("current").get<std::string>()).at("tokens")["expires_at"] = 1;
  });
}

}  // namespace

TEST_CASE("register, app, approval: then deployments can be listed, without another login") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in("amy");
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("deployments").empty());
  const json me = ada.must({"whoami", "-o", "json"}).body();
  CHECK(me.at("user").at("username") == "amy");
  CHECK(me.at("token").at("scopes").dump().find("deploy:manage") != std::string::npos);
  struct stat seen = {};
  REQUIRE(::stat(ada.credentials_file().c_str(), &seen) == 0);
  CHECK((seen.st_mode & 07777) == 0600);
}

TEST_CASE("secrets are shown only if they are asked for") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.must({"register", "--email", "ann@example.org", "--username", "ann", "--password-stdin"},
           Person::password());
  const Ran created = ada.must({"apps", "create", "Game", "-o", "json"});
  CHECK(created.out.find("cs_live_") == std::string::npos);
  CHECK(ada.must({"apps", "create", "Other", "--show-secret"}).out.find("cs_live_") !=
        std::string::npos);
  for (const Words& words : {Words{"whoami", "-o", "json"}, Words{"apps", "list", "-o", "yaml"},
                             Words{"apps", "show"}, Words{"config", "show"}}) {
    const Ran ran = ada.must(words);
    for (const char* secret : {"cs_live_", "at_live_", "rt_live_", "eyJ"})
      CHECK((ran.out + ran.err).find(secret) == std::string::npos);
  }
}

TEST_CASE("login by password, with a second factor, also gets the app's tokens") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in("abe");
  berth::process::Client account(berthd, jwt_of(ada));
  const auto setup = berth::process::expect(200, account.post("/api/auth/totp/setup"));
  const std::string secret = setup.body.at("secret");
  const auto enabled = berth::process::expect(
      200, account.post("/api/auth/totp/enable",
                        {{"code", berth::test::totp(secret, ::time(nullptr))}}));
  ada.must({"logout"});
  CHECK(ada.berth({"deploy", "list"}).code == not_logged_in);

  const Words login = {"login", "--email", "abe@example.org", "--password-stdin"};
  const Ran without = ada.berth(login, Person::password());
  CHECK(without.code == not_logged_in);
  CHECK(without.err.find("--totp-code") != std::string::npos);
  Words with_code = login;
  with_code.insert(with_code.end(), {"--totp-code", enabled.body.at("recovery_codes").at(0)});
  ada.must(with_code, Person::password());
  ada.must({"deploy", "list"});
  CHECK(ada.berth(login, "wrong password").code == not_logged_in);
}

TEST_CASE("login by browser: PKCE, state, and a loopback address that is closed afterwards") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  const std::string jwt = jwt_of(ada);
  forget_tokens(ada);
  forget_session(ada);
  CHECK(ada.berth({"deploy", "list"}).code == not_logged_in);

  const auto login = ada.start({"login", "--no-browser"});
  REQUIRE(eventually([&] { return login->err().find("S256") != std::string::npos; }));
  const std::string address = address_in(login->err());
  const auto asked = decoded(address.substr(address.find('?') + 1));
  CHECK(asked.at("code_challenge_method") == "S256");
  CHECK(asked.at("code_challenge").size() == 43);
  const std::string loopback = asked.at("redirect_uri");
  CHECK(std::regex_match(loopback, std::regex("http://127\\.0\\.0\\.1:[0-9]+/callback")));

  // Requests that other programs on this machine may send change nothing.
  CHECK(browse(loopback + "?code=stolen&state=guessed").status == 400);
  CHECK(browse(loopback.substr(0, loopback.rfind('/')) + "/favicon.ico").status == 404);

  CHECK(browse(way_back(berthd, address, jwt)).status == 200);
  CHECK(login->wait().code == 0);
  ada.must({"deploy", "list"});
  CHECK_THROWS_AS(browse(loopback), NoAnswer);
}

TEST_CASE("a second machine logs in by browser, without an app's secret, and works for all apps") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person first(berthd);
  first.settle_in("alf");
  first.must({"deploy", "create", "hello", "--image", berth::process::well_image});
  const Person second(berthd);
  CHECK(second.berth({"deploy", "list"}).code == not_logged_in);
  const auto login = second.start({"login", "--no-browser"});
  REQUIRE(eventually([&] { return login->err().find("S256") != std::string::npos; }));
  const std::string address = address_in(login->err());
  CHECK(decoded(address.substr(address.find('?') + 1)).at("client_id") == "berth");
  CHECK(browse(way_back(berthd, address, jwt_of(first))).status == 200);
  const Ran ended = login->wait();
  CHECK(ended.code == 0);
  CHECK(ended.out.find("Logged in as alf") != std::string::npos);

  CHECK(second.must({"deploy", "list"}).out.find("hello") != std::string::npos);
  CHECK(second.must({"whoami", "-o", "json"}).body().at("user").at("username") == "alf");
  second.must({"deploy", "stop", "hello"});  // the only app needn't be named
  const json other = second.must({"apps", "create", "Other", "-o", "json"}).body().at("app");
  second.must({"admin", "approve", "--all", "--yes"}, "",
              {{"BERTH_INTERNAL_SECRET", berthd.internal_secret()}});
  // With several apps, one is chosen: here the new one, which the client has put in use.
  CHECK(second.berth({"deploy", "get", "hello"}).code == 4);
  second.must({"deploy", "get", "hello", "--app", "Game of alf"});
  second.must({"apps", "use", "Game of alf"});
  second.must({"deploy", "get", "hello"});
  const json stored = second.credentials();
  CHECK_FALSE(stored.contains("session"));
  CHECK(stored.at("login").at("username") == "alf");

  // What protects the account needs its password.
  const Ran refused = second.berth({"totp", "setup"});
  CHECK(refused.code == not_logged_in);
  CHECK(refused.err.find("berth login --email") != std::string::npos);
  const std::string token = stored.at("login").at("tokens").at("access_token");
  second.must({"logout"});
  CHECK(second.berth({"deploy", "list"}).code == not_logged_in);
  CHECK_FALSE(berth::process::works(berthd, token));
}

TEST_CASE("a server without a browser logs in by a code that is confirmed on another machine") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person laptop(berthd);
  laptop.settle_in(fresh_name("ada"));
  const Person server(berthd);
  const auto login = server.start({"login", "--device"});
  REQUIRE(eventually([&] { return !user_code_in(login->err()).empty(); }));
  CHECK(login->err().find(berthd.base_url() + "/device") != std::string::npos);
  decide_device(berthd, jwt_of(laptop), user_code_in(login->err()), "allow");
  CHECK(login->wait().code == 0);
  server.must({"deploy", "list"});
  // It is renewed without a secret.
  server.change_credentials(
      [](json& account) { account.at("login").at("tokens")["expires_at"] = 1; });
  server.must({"deploy", "list"});
  server.must({"apps", "list"});
  // It is among the account's devices, by the name of this machine, and ends when it is told to.
  const json devices = server.must({"account", "devices", "-o", "json"}).body().at("devices");
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].at("current") == true);
  CHECK(devices[0].at("name") != "unnamed");
  CHECK(devices[0].at("program").get<std::string>().starts_with("berth-cli/"));
  CHECK(laptop.must({"account", "devices"}).out.find("berth-cli/") != std::string::npos);
  CHECK(laptop.berth({"account", "end-device", "laptop"}).code == 2);
  CHECK(server.berth({"account", "end-device", devices[0].at("id")}).code == not_logged_in);
  laptop.must({"account", "end-device", devices[0].at("id")});
  CHECK(server.berth({"deploy", "list"}).code == not_logged_in);

  const Person stranger(berthd);
  const auto denied = stranger.start({"login", "--device"});
  REQUIRE(eventually([&] { return !user_code_in(denied->err()).empty(); }));
  decide_device(berthd, jwt_of(laptop), user_code_in(denied->err()), "deny");
  const Ran ended = denied->wait();
  CHECK(ended.code == 4);
  CHECK(ended.err.find("denied") != std::string::npos);
}

TEST_CASE("a token that was made elsewhere logs in, whatever kind it is") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in("ava");
  ada.must({"deploy", "list"});
  const Person by_session(berthd);
  by_session.must({"login", "--token"}, jwt_of(ada));
  CHECK(by_session.must({"whoami", "-o", "json"}).body().at("user").at("username") == "ava");
  const Person by_app(berthd);
  by_app.must({"login", "--token"}, ada.tokens().at("access_token").get<std::string>());
  by_app.must({"deploy", "list"});
  const Person wrong(berthd);
  CHECK(wrong.berth({"login", "--token"}, "at_live_unknown").code == not_logged_in);
  CHECK_FALSE(std::filesystem::exists(wrong.credentials_file()));
}

TEST_CASE("silent connections don't keep the browser out") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  const std::string jwt = jwt_of(ada);
  forget_tokens(ada);
  forget_session(ada);
  const auto login = ada.start({"login", "--no-browser"});
  REQUIRE(eventually([&] { return login->err().find("S256") != std::string::npos; }));
  const std::string address = address_in(login->err());
  const std::string loopback = decoded(address.substr(address.find('?') + 1)).at("redirect_uri");
  const int port = std::stoi(loopback.substr(loopback.rfind(':') + 1));

  std::vector<std::unique_ptr<berth::process::Raw>> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(std::make_unique<berth::process::Raw>(port));
    if (i % 2 == 0) silent.back()->send("GET /callback");
  }
  const berth::process::Raw endless(port);
  while (endless.send(std::string(4096, 'x'))) {
  }
  CHECK(browse(way_back(berthd, address, jwt)).status == 200);
  CHECK(login->wait().code == 0);
}

TEST_CASE("a login that is denied in the browser is reported") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  const auto login = ada.start({"login", "--no-browser"});
  REQUIRE(eventually([&] { return login->err().find("S256") != std::string::npos; }));
  const auto asked =
      decoded(address_in(login->err()).substr(address_in(login->err()).find('?') + 1));
  const std::string state = "&state=" + percent_encode(asked.at("state"));
  CHECK(browse(asked.at("redirect_uri") + "?error=access_denied" + state +
               "&iss=" + percent_encode(berthd.base_url()))
            .status == 200);
  const Ran ended = login->wait();
  CHECK(ended.code == 4);
  CHECK(ended.err.find("access was denied") != std::string::npos);

  const auto mixed_up = ada.start({"login", "--no-browser"});
  REQUIRE(eventually([&] { return mixed_up->err().find("S256") != std::string::npos; }));
  const std::string address = address_in(mixed_up->err());
  const auto again = decoded(address.substr(address.find('?') + 1));
  browse(again.at("redirect_uri") +
         "?code=x&iss=https%3A%2F%2Fevil.example&state=" + percent_encode(again.at("state")));
  const Ran refused = mixed_up->wait();
  CHECK(refused.code == 1);
  CHECK(refused.err.find("another server") != std::string::npos);
}

TEST_CASE("a server gets no login in the name of another one") {
  const std::string server = "https://berth.example.org";
  CHECK(is_name_of("https://berth.example.org", server));
  CHECK(is_name_of("https://berth.example.org", "https://berth.example.org:443"));
  CHECK(is_name_of("https://berth.example.org/device", server));
  for (const char* other :
       {"https://other.example.org", "https://other.example.org/device", "http://berth.example.org",
        "https://berth.example.org:8443", "https://berth.example.org.evil.example",
        "https://berth.example.org@evil.example", "berth.example.org", ""})
    CHECK_FALSE(is_name_of(other, server));
  CHECK(is_name_of(server, "http://127.0.0.1:8080"));  // a tunnel of one's own
}

TEST_CASE("an expired access token is replaced, together with its refresh token") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  ada.must({"deploy", "list"});
  forget_session(ada);
  const json before = ada.tokens();
  let_token_end(ada);
  ada.must({"deploy", "list"});
  const json after = ada.tokens();
  CHECK(after.at("access_token") != before.at("access_token"));
  CHECK(after.at("refresh_token") != before.at("refresh_token"));
  CHECK(after.at("expires_at") > 1000);
}

TEST_CASE("a token that the server no longer accepts is replaced") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  ada.must({"deploy", "list"});
  forget_session(ada);
  ada.change_credentials([](json& account) {
    account.at("apps").at(account.at("current").get<std::string>()).at("tokens")["access_token"] =
        "at_live_unknown";
  });
  ada.must({"deploy", "list"});
}

TEST_CASE("clients that refresh at the same time use the refresh token once") {
  const Berthd berthd({"--refresh-reuse-grace", "0s"});
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "list"});
  forget_session(ada);
  for (int round = 0; round < 3; ++round) {
    let_token_end(ada);
    std::vector<std::unique_ptr<Running>> clients;
    for (int i = 0; i < 6; ++i) clients.push_back(ada.start({"deploy", "list"}));
    for (const auto& client : clients) {
      const Ran ran = client->wait();
      CAPTURE(ran.err);
      CHECK(ran.code == 0);
    }
  }
  // If a refresh token had been used twice, all tokens would have been revoked.
  let_token_end(ada);
  ada.must({"deploy", "list"});
}

TEST_CASE(
    "if refreshing isn't possible, the session gets new tokens; without a session the client isn't "
    "logged in") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  ada.must({"deploy", "list"});
  const auto spoil = [&] {
    ada.change_credentials([](json& account) {
      json& tokens = account.at("apps").at(account.at("current").get<std::string>()).at("tokens");
      tokens["expires_at"] = 1;
      tokens["refresh_token"] = "rt_live_unknown";
    });
  };
  spoil();
  ada.must({"deploy", "list"});
  spoil();
  forget_session(ada);
  const Ran ran = ada.berth({"deploy", "list"});
  CHECK(ran.code == not_logged_in);
  CHECK(ran.err.find("berth login") != std::string::npos);
}

TEST_CASE("a scope that is approved later is used without a new login") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.must({"register", "--email", "ari@example.org", "--username", "ari", "--password-stdin"},
           Person::password());
  ada.must({"apps", "create", "Game", "--scopes", "deploy:manage"});
  const Ran refused = ada.berth({"deploy", "list"});
  CHECK(refused.code == 4);
  CHECK(refused.err.find("berth scopes list") != std::string::npos);
  CHECK(ada.must({"scopes", "list"}).out.find("pending") != std::string::npos);
  CHECK(ada.berth({"admin", "approve", "--all", "--yes"}).code == not_logged_in);
  ada.must({"admin", "approve", "--all", "--yes"}, "",
           {{"BERTH_INTERNAL_SECRET", berthd.internal_secret()}});
  ada.must({"deploy", "list"});
}

TEST_CASE("in CI, a token or the app's own credentials suffice, and nothing is stored") {
  const Berthd& berthd = shared_berthd(unlimited);
  auto op = berth::process::operator_with_token(berthd, fresh_name("ada"));
  const Person ci(berthd);
  ci.must({"deploy", "list"}, "", {{"BERTH_TOKEN", op.tokens.access_token}});
  ci.must({"deploy", "list", "--client-id", op.app.client_id}, "",
          {{"BERTH_CLIENT_SECRET", op.app.client_secret}});
  CHECK_FALSE(std::filesystem::exists(ci.credentials_file()));
  CHECK(ci.berth({"deploy", "list"}, "", {{"BERTH_TOKEN", "at_live_nonsense"}}).code ==
        not_logged_in);
  CHECK(ci.berth({"deploy", "list", "--client-id", op.app.client_id}, "",
                 {{"BERTH_CLIENT_SECRET", "wrong"}})
            .code == not_logged_in);

  ci.must(
      {"login", "--client-credentials", "--client-id", op.app.client_id, "--client-secret-stdin"},
      op.app.client_secret);
  ci.must({"deploy", "list"});
  let_token_end(ci);
  ci.must({"deploy", "list"});
}

TEST_CASE("logout ends on the server what was stored") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  ada.must({"deploy", "list"});
  const std::string token = ada.tokens().at("access_token");
  const std::string jwt = jwt_of(ada);
  CHECK(berth::process::works(berthd, token));
  ada.must({"logout"});
  CHECK_FALSE(berth::process::works(berthd, token));
  CHECK(berth::process::Client(berthd, jwt).get("/api/auth/me").status == 401);
  CHECK(ada.credentials().at("apps").begin().value().contains("tokens") == false);
  CHECK(ada.berth({"whoami"}).code == not_logged_in);
}

TEST_CASE("logging in as another user doesn't act for the first one's app") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in("bob");
  ada.settle_in("aya");
  ada.must({"deploy", "create", "hola", "--image", berth::process::well_image});
  ada.must({"login", "--email", "bob@example.org", "--password-stdin"}, Person::password());
  CHECK_FALSE(ada.must({"whoami", "-o", "json"}).body().contains("app"));
  // The login works for bob's apps, with the built-in client's access.
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("total") == 0);
  CHECK(ada.credentials().at("login").at("username") == "bob");
  ada.must({"apps", "use", "Game of bob"});
  CHECK(ada.must({"deploy", "list", "-o", "json"}).body().at("total") == 0);
}

TEST_CASE("the next login by browser asks for the scopes approved meanwhile") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  ada.must({"scopes", "request", "app:balance:read"});
  ada.must({"admin", "approve", "--all", "--yes"}, "",
           {{"BERTH_INTERNAL_SECRET", berthd.internal_secret()}});
  ada.must({"scopes", "list"});
  const auto login = ada.start({"login", "--no-browser"});
  REQUIRE(eventually([&] { return login->err().find("S256") != std::string::npos; }));
  CHECK(decoded(address_in(login->err())).at("scope").find("app:balance:read") !=
        std::string::npos);
}

TEST_CASE("whoami describes the token from the environment if there is one") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  CHECK(ada.berth({"whoami"}, "", {{"BERTH_TOKEN", "at_live_unknown"}}).code == not_logged_in);
  const std::string token = ada.must({"token", "-o", "json"}).body().at("token");
  const json me = ada.must({"whoami", "-o", "json"}, "", {{"BERTH_TOKEN", token}}).body();
  CHECK(me.at("token").at("active") == true);
  CHECK_FALSE(me.contains("user"));
}

TEST_CASE("an expired session is renewed with the password, as the client advises") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Person ada(berthd);
  ada.settle_in(fresh_name("ada"));
  const Ran ran = ada.berth({"apps", "list"}, "", {{"BERTH_TOKEN", "eyJhbGciOiJub25lIn0.e30."}});
  CHECK(ran.code == not_logged_in);
  CHECK(ran.err.find("berth login --email") != std::string::npos);
}

TEST_CASE("Ctrl-C at the password prompt restores the terminal's echo") {
  const Berthd& berthd = shared_berthd(unlimited);
  const berth::process::TempDir home;
  const std::string directory = home.path().string();
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::setenv("HOME", directory.c_str(), 1);
    ::setenv("BERTH_URL", berthd.base_url().c_str(), 1);
    ::execl(berth::test::berth_program, berth::test::berth_program, "login", "--email",
            "ada@example.org", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  REQUIRE(child > 0);
  const auto echoes = [&] {
    termios now = {};
    REQUIRE(::tcgetattr(terminal, &now) == 0);
    return (now.c_lflag & ECHO) != 0;
  };
  REQUIRE(eventually([&] { return !echoes(); }));
  REQUIRE(::write(terminal, "\x03", 1) == 1);
  int status = 0;
  REQUIRE(eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
  CHECK(echoes());
  ::close(terminal);
}
