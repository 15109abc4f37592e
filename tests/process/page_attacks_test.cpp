// Attacks on the hosted pages, by the sections of RFC 9700 that need a browser: what a browser is
// told and what it is refused. tests/pages tries some of them in a real one.
#include <catch2/catch.hpp>
#include <ctime>
#include <regex>

#include "controller/base/crypto.h"
#include "tests/process/oauth.h"
#include "tests/totp.h"

using namespace berth;
using namespace berth::process;
using Catch::Contains;

namespace {

const std::string verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const std::string challenge = base64url(sha256(verifier));

// A browser as far as these tests need one: it keeps cookies and follows no redirects.
class Browser {
 public:
  explicit Browser(const Berthd& berthd) : client_(berthd) {}

  Answer open(const std::string& path) { return ask({.method = "GET", .path = path}); }
  // Sends the form of the page that was opened last.
  Answer send(const std::string& path, Form fields, Headers headers = {}) {
    fields.emplace("csrf", csrf_);
    return send_alone(path, fields, std::move(headers));
  }
  // Sends a form without the page's token.
  Answer send_alone(const std::string& path, const Form& fields, Headers headers = {}) {
    headers.emplace("Content-Type", "application/x-www-form-urlencoded");
    return ask({.method = "POST",
                .path = path,
                .body = form_encoded(fields),
                .headers = std::move(headers)});
  }
  Answer log_in(const User& user) {
    open("/login");
    return expect(303, send("/login", {{"email", user.email}, {"password", user.password}}));
  }

 private:
  Answer ask(Ask what) {
    what.headers.emplace("Accept", "text/html");
    std::string cookies;
    for (const auto& [name, value] : cookies_)
      cookies += (cookies.empty() ? "" : "; ") + name + "=" + value;
    if (!cookies.empty()) what.headers.emplace("Cookie", cookies);
    Answer answer = client_.ask(what);
    for (const auto& [name, value] : answer.headers)
      if (name == "Set-Cookie") {
        const size_t equals = value.find('='), end = value.find(';');
        cookies_[value.substr(0, equals)] = value.substr(equals + 1, end - equals - 1);
      }
    std::smatch token;
    if (std::regex_search(answer.text, token, std::regex("name=\"csrf\" value=\"([^\"]+)\"")))
      csrf_ = token[1];
    return answer;
  }

  Client client_;
  std::map<std::string, std::string> cookies_;
  std::string csrf_;
};

const Flags unlimited = {"--rate-limits", "off"};

struct Platform {
  explicit Platform(const Berthd& on = shared_berthd(unlimited)) : berthd(on) {}
  const Berthd& berthd;
  User ada = register_verified_user(berthd, fresh_name("ada"));
  App app = create_app(berthd, ada, {"profile:read"});
  Browser browser{berthd};

  std::string authorization_path(const std::string& redirect_uri = {}) const {
    Form form = authorization(app, "profile:read", challenge);
    if (!redirect_uri.empty()) {
      form.erase("redirect_uri");
      form.emplace("redirect_uri", redirect_uri);
    }
    return "/api/oauth/authorize?" + form_encoded(form);
  }
  // Returns everything that a browser may see: pages, refusals, and redirects to the login and to
  // the app.
  std::vector<Answer> answers() {
    std::vector<Answer> all;
    for (const char* path : {"/login", "/register", "/forgot-password", "/reset-password?token=x",
                             "/verify-email?token=x", "/account", "/api/oauth/authorize"})
      all.push_back(browser.open(path));
    all.push_back(browser.open(authorization_path()));
    all.push_back(browser.log_in(ada));
    for (const char* path :
         {"/account", "/account/totp", "/connected-apps", "/admin/scope-requests"})
      all.push_back(browser.open(path));
    all.push_back(browser.open(authorization_path("https://evil.example/")));
    all.push_back(browser.open(authorization_path()));
    all.push_back(browser.send_alone("/consent", {}));
    return all;
  }
};

TEST_CASE("an idle browser is logged out, and a program's JWT isn't") {
  constexpr int hour = 3'600;
  const Berthd own(unlimited);
  Platform p(own);
  p.browser.log_in(p.ada);
  for (int i = 0; i < 3; ++i) {
    advance(p.berthd, 2 * hour - 60);
    CHECK(p.browser.open("/account").status == 200);
  }
  advance(p.berthd, 2 * hour);
  const Answer left_alone = p.browser.open("/account");
  CHECK(left_alone.status == 303);
  CHECK_THAT(left_alone.header("Location"), Contains("/login"));
  CHECK(Client(p.berthd, p.ada.jwt).get("/api/auth/me").status == 200);
}

TEST_CASE("4.2 no page tells another site what its address contains") {
  Platform p;
  for (const Answer& answer : p.answers()) {
    INFO(answer.question);
    CHECK(answer.header("Referrer-Policy") == "same-origin");
    // Nothing is loaded from other sites, so no site gets berth's address in Referer.
    CHECK_THAT(answer.header("Content-Security-Policy"), Contains("default-src 'none'"));
    CHECK(answer.header("Cache-Control") == "no-store");
    CHECK(answer.header("Cross-Origin-Opener-Policy") == "same-origin");
  }
}

TEST_CASE("4.4 mix-up: whatever the pages send to an app names its issuer") {
  Platform p;
  p.browser.log_in(p.ada);
  expect(200, p.browser.open(p.authorization_path()));
  Form form = authorization(p.app, "profile:read", challenge);
  form.emplace("decision", "allow");
  const Answer allowed = expect(303, p.browser.send("/consent", form));
  form.erase("decision");
  form.emplace("decision", "deny");
  const Answer denied = expect(303, p.browser.send("/consent", form));
  const Answer broken = expect(303, p.browser.open(p.authorization_path() + "&response_mode=x"));
  const std::string issuer = "&iss=" + p.berthd.base_url();  // httplib decodes Location
  CHECK_THAT(allowed.header("Location"), Contains("code=") && Contains(issuer));
  CHECK_THAT(denied.header("Location"), Contains("error=access_denied") && Contains(issuer));
  CHECK_THAT(broken.header("Location"), Contains("error=invalid_request") && Contains(issuer));
}

TEST_CASE(
    "4.11 nobody is sent to an app before they have logged in, whatever is wrong with the link") {
  Platform p;
  const std::string path = p.authorization_path();
  for (const char* wrong :
       {"&scope=deploy:manage", "&response_mode=fragment", "&state=a&state=b"}) {
    const Answer answer = p.browser.open(path + wrong);
    INFO(wrong);
    CHECK(answer.status == 303);
    CHECK_THAT(answer.header("Location"), Catch::StartsWith("/login?next="));
  }
  p.browser.log_in(p.ada);
  const Answer refused = expect(303, p.browser.open(path + "&scope=deploy:manage"));
  CHECK_THAT(refused.header("Location"),
             Catch::StartsWith(p.app.redirect_uri + "?error=invalid_request&"));
}

TEST_CASE("4.16 clickjacking: nothing that a browser shows can be framed") {
  Platform p;
  for (const Answer& answer : p.answers()) {
    INFO(answer.question);
    CHECK_THAT(answer.header("Content-Security-Policy"), Contains("frame-ancestors 'none'"));
    CHECK(answer.header("X-Frame-Options") == "DENY");
  }
}

TEST_CASE(
    "4.17 no answer is handed to a window: there are no scripts, and no other response mode") {
  Platform p;
  for (const Answer& answer : p.answers()) {
    INFO(answer.question);
    CHECK_THAT(answer.text, !Contains("<script", Catch::CaseSensitive::No));
    CHECK_THAT(answer.text, !Contains("postMessage"));
    CHECK_THAT(answer.header("Content-Security-Policy"), !Contains("script-src"));
  }
  const Answer refused = p.browser.open(p.authorization_path() + "&response_mode=web_message");
  CHECK(refused.status == 303);
  CHECK_THAT(refused.header("Location"), Catch::StartsWith(p.app.redirect_uri + "?") &&
                                             Contains("error=invalid_request") &&
                                             !Contains("code="));
}

TEST_CASE("the page that checks receipts runs its own script, and no other") {
  Platform p;
  const Answer page = expect(200, p.browser.open("/receipts/verify"));
  const std::string opens = "<script>";
  const size_t begin = page.text.find(opens) + opens.size();
  const size_t end = page.text.find("</script>");
  REQUIRE(end != std::string::npos);
  const std::string policy = page.header("Content-Security-Policy");
  CHECK_THAT(policy, Catch::EndsWith("; script-src 'sha256-" +
                                     base64(sha256(page.text.substr(begin, end - begin))) + "'"));
  CHECK_THAT(policy, Contains("default-src 'none'") && !Contains("unsafe"));
  CHECK(page.text.find("<script", begin) == std::string::npos);
  CHECK_THAT(page.text, Contains("&quot;crv&quot;:&quot;Ed25519&quot;"));
}

TEST_CASE("a form that another site sends changes nothing") {
  Platform p;
  p.browser.log_in(p.ada);
  p.browser.open("/account");
  const Form rename = {{"username", "eve"}};
  CHECK(p.browser.send_alone("/account/username", rename).status == 403);
  for (const Headers& foreign :
       {Headers{{"Origin", "https://evil.example"}}, Headers{{"Origin", "null"}},
        Headers{{"Sec-Fetch-Site", "cross-site"}}})
    CHECK(p.browser.send("/account/username", rename, foreign).status == 403);
  CHECK(expect(200, Client(p.berthd, p.ada.jwt).get("/api/auth/me")).body["user"]["username"] ==
        p.ada.username);
  CHECK(p.browser.send("/account/username", rename).status == 200);
  CHECK(expect(200, Client(p.berthd, p.ada.jwt).get("/api/auth/me")).body["user"]["username"] ==
        "eve");
}

TEST_CASE(
    "a login that waits for its code ends when the password changes, and after five minutes") {
  const Berthd own(unlimited);
  Platform p(own);
  Client client(p.berthd, p.ada.jwt);
  const std::string secret = expect(200, client.post("/api/auth/totp/setup")).body.at("secret");
  const json code = {{"code", berth::test::totp(secret, std::time(nullptr))}};
  const json enabled = expect(200, client.post("/api/auth/totp/enable", code)).body;
  const auto recovery_code = [&](size_t number) { return enabled["recovery_codes"][number]; };
  const auto pending_in = [](const Answer& answer) {
    std::smatch found;
    REQUIRE(std::regex_search(answer.text, found, std::regex("name=\"pending\" value=\"([^\"]+)")));
    return found[1].str();
  };
  const auto begin = [&] {
    p.browser.open("/login");
    const Form login = {{"email", p.ada.email}, {"password", p.ada.password}};
    return pending_in(expect(200, p.browser.send("/login", login)));
  };
  const auto go_on = [&](const std::string& pending, const std::string& with) {
    return p.browser.send("/login/code", {{"pending", pending}, {"code", with}});
  };
  std::string pending = begin();
  advance(p.berthd, 200);
  pending = pending_in(expect(422, go_on(pending, "000000")));
  advance(p.berthd, 200);
  CHECK_THAT(expect(422, go_on(pending, recovery_code(0))).text, Contains("too long"));

  pending = begin();
  const json change = {{"current_password", p.ada.password}, {"new_password", "four other words"}};
  expect(200, client.post("/api/auth/change-password", change));
  CHECK_THAT(expect(422, go_on(pending, recovery_code(0))).text, Contains("start again"));
  p.ada.password = "four other words";
  CHECK(go_on(begin(), recovery_code(0)).status == 303);
}

TEST_CASE("the path to continue at after the login can't end a header") {
  Platform p;
  const std::string evil = "/api/oauth/authorize?client_id=x\r\nSet-Cookie: berth_session=evil";
  for (const std::string& next :
       {evil, std::string("/api/oauth/authorize?\n"), std::string("/api/oauth/authorize?a b"),
        std::string("/api/oauth/authorize?\xc3\xa4")}) {
    INFO(next);
    CHECK(p.browser.open("/login?" + form_encoded({{"next", next}})).status == 200);
    const Answer entered = p.browser.send(
        "/login", {{"email", p.ada.email}, {"password", p.ada.password}, {"next", next}});
    CHECK(entered.status == 303);
    CHECK(entered.header("Location") == "/account");
    const Answer again = p.browser.open("/login?" + form_encoded({{"next", next}}));
    CHECK(again.status == 303);
    CHECK(again.header("Location") == "/account");
    p.browser.open("/account");
    expect(303, p.browser.send("/logout", {}));
    p.browser.open("/register");
    const Form account = {{"email", "x"}, {"username", "x"}, {"password", "x"}, {"next", next}};
    CHECK(p.browser.send("/register", account).status == 422);
  }
}

TEST_CASE("a page's policy contains no more of a redirect URI than its origin") {
  Platform p;
  Client owner(p.berthd, p.ada.jwt);
  const auto create = [&](const std::string& uri) {
    return owner.post("/api/oauth/apps", {{"app_name", "A game"}, {"redirect_uris", {uri}}});
  };
  for (const char* bad :
       {"https://e.com;script-src", "https://e.com;script-src/cb", "https://e.com,https://f.com/",
        "https://*/cb", "https://*.e.com/cb", "https://e.com'none'/", "https://e%2ecom/"}) {
    INFO(bad);
    CHECK(create(bad).code() == "validation_failed");
  }
  p.browser.log_in(p.ada);
  for (const auto& [uri, source] :
       std::map<std::string, std::string>{{"https://E.com:8443/cb;x?y=*", "https://e.com:8443"},
                                          {"http://127.0.0.1/cb;script-src", "http://127.0.0.1"},
                                          {"com.example.app:/cb;script-src", "com.example.app:"}}) {
    const json made = expect(201, create(uri)).body["app"];
    p.app.client_id = made["client_id"];
    const Answer page = expect(200, p.browser.open(p.authorization_path(uri)));
    CHECK_THAT(page.header("Content-Security-Policy"),
               Catch::EndsWith("form-action 'self' " + source));
  }
}

// Returns the session token for the code in a redirect to the app; empty if there is none.
std::string session_token_of(const Platform& p, const Answer& redirect) {
  const std::string location = expect(303, redirect).header("Location");
  const size_t start = location.find("code=") + 5;
  const Code code = {.code = location.substr(start, location.find('&', start) - start),
                     .verifier = verifier};
  Client client(p.berthd);
  const Answer given = expect(200, client.post("/api/oauth/token", code_exchange(p.app, code)));
  return given.body.value("session_token", std::string());
}

TEST_CASE("the consent page says what a session is for, and the user can restrict it to reading") {
  Platform p;
  p.browser.log_in(p.ada);
  Form form = authorization(p.app, "profile:read", challenge);
  form.emplace("decision", "allow");
  const auto may_act = [&](const std::string& session_token) {
    const Ask rename = {
        .method = "PUT", .path = "/api/avatars/me", .body = R"({"display_name": "x"})"};
    return Client(p.berthd, session_token).ask(rename).status == 200;
  };
  const std::string ticked = "value=\"full\" checked", box = "name=\"session_access\"";
  const Answer page = expect(200, p.browser.open(p.authorization_path()));
  CHECK_THAT(page.text, Contains("Let the app act as you") && Contains("chat") &&
                            Contains("friend requests") && Contains("block people") &&
                            Contains("avatar") && Contains(ticked));

  // Somebody else's app may only look, unless the user ticks the box.
  Browser other(p.berthd);
  other.log_in(register_verified_user(p.berthd, fresh_name("bob")));
  CHECK_THAT(expect(200, other.open(p.authorization_path())).text,
             Contains(box) && !Contains(ticked));

  // Browsers don't send a box that isn't ticked.
  const std::string reads = session_token_of(p, p.browser.send("/consent", form));
  CHECK_FALSE(may_act(reads));
  // The next page shows the earlier choice.
  CHECK_THAT(expect(200, p.browser.open(p.authorization_path())).text,
             Contains(box) && !Contains(ticked));
  form.emplace("session_access", "full");
  CHECK(may_act(session_token_of(p, p.browser.send("/consent", form))));
  CHECK(may_act(reads));

  const auto change = [&](const std::string& access) {
    p.browser.open("/connected-apps");
    return p.browser.send("/connected-apps/session",
                          {{"app_id", p.app.id}, {"session_access", access}});
  };
  CHECK_THAT(expect(200, change("read")).text, Contains("can’t act as you"));
  CHECK_FALSE(may_act(reads));
  CHECK_THAT(expect(422, change("everything")).text, Contains("one of the choices"));
  CHECK_THAT(expect(200, change("full")).text, Contains("The app can act as you"));
  CHECK(may_act(reads));
}

TEST_CASE(
    "the page doesn't offer a session to an app without session tokens, which can't get one "
    "later") {
  Platform p;
  p.browser.log_in(p.ada);
  Client owner(p.berthd, p.ada.jwt);
  const auto take_session_tokens = [&](bool wanted) {
    expect(200, owner.ask({.method = "PUT",
                           .path = "/api/operator/apps/" + p.app.id,
                           .body = json{{"session_tokens", wanted}}.dump()}));
  };
  take_session_tokens(false);
  const Answer page = expect(200, p.browser.open(p.authorization_path()));
  CHECK_THAT(page.text, !Contains("session_access") && !Contains("act as you") &&
                            Contains("name=\"without_session\" value=\"yes\""));
  Form form = authorization(p.app, "profile:read", challenge);
  form.emplace("decision", "allow");
  form.emplace("without_session", "yes");
  CHECK(session_token_of(p, p.browser.send("/consent", form)).empty());
  CHECK_THAT(p.browser.open("/connected-apps").text,
             Contains("App of ada") && !Contains("act as you"));
  // The app changes while the page is open, so the user is asked again.
  expect(200, p.browser.open(p.authorization_path()));
  take_session_tokens(true);
  const Answer again = expect(409, p.browser.send("/consent", form));
  CHECK_THAT(again.text,
             Contains("Let the app act as you") && Contains("changed what it asks for"));
  // The choice of a language leads to what the form was about.
  CHECK_THAT(again.text, Contains("value=\"/api/oauth/authorize?response_type=code&amp;client_id=" +
                                  p.app.client_id + "&amp;redirect_uri="));
  const std::string next =
      expect(303,
             p.browser.send("/language", {{"language", "de"}, {"next", p.authorization_path()}}))
          .header("Location");
  CHECK_THAT(next, Contains("/api/oauth/authorize?") && Contains("client_id=" + p.app.client_id) &&
                       Contains("code_challenge=" + std::string(challenge)) &&
                       Contains("scope=profile:read"));
}

TEST_CASE("consent can't be forged") {
  Platform p;
  p.browser.log_in(p.ada);
  Form form = authorization(p.app, "profile:read", challenge);
  form.emplace("decision", "allow");
  const Answer forged = p.browser.send_alone("/consent", form);
  CHECK(forged.status == 403);
  CHECK(!forged.has_header("Location"));
  const json connected =
      expect(200, Client(p.berthd, p.ada.jwt).get("/api/oauth/connected-apps")).body;
  CHECK(connected["total"] == 0);
  // The same from the page itself.
  expect(200, p.browser.open(p.authorization_path()));
  const Answer allowed = expect(303, p.browser.send("/consent", form));
  CHECK_THAT(allowed.header("Location"), Contains("code="));
}

TEST_CASE("the pages of a consent and of a device say who asks") {
  Platform p;
  const User bob = register_verified_user(p.berthd, "bob");
  p.browser.log_in(bob);
  const std::string consent = expect(200, p.browser.open(p.authorization_path())).text;
  CHECK_THAT(consent, Contains("belongs to <strong><bdi>" + p.ada.username + "</bdi></strong>"));
  CHECK_THAT(consent, Contains("has existed here since "));
  CHECK_THAT(consent, !Contains("part of this platform"));

  const std::string deceiving =
      "berth/1.2 official login, press Allow. " + std::string(200, '!') + "(Linux)";
  Client client(p.berthd);
  const Answer asked =
      expect(200, client.ask({.method = "POST",
                              .path = "/api/oauth/device_authorization",
                              .body = form_encoded({{"client_id", "berth"}}),
                              .headers = {{"Content-Type", "application/x-www-form-urlencoded"},
                                          {"User-Agent", deceiving}}}));
  p.browser.open("/device");
  const std::string device =
      expect(200, p.browser.send("/device", {{"user_code", asked.body["user_code"]}})).text;
  CHECK_THAT(device, Contains("Program: <bdi>berth 1.2</bdi>"));
  CHECK_THAT(device, !Contains("press Allow"));
  CHECK_THAT(device, Contains("part of this platform"));
}

TEST_CASE("the pages change an account's address, and give it back") {
  Platform p;
  p.browser.log_in(p.ada);
  const auto token = [&](const std::string& to) -> std::string {
    const Answer outbox = Client(p.berthd).get("/api/internal/outbox", admin(p.berthd));
    for (const json& mail : outbox.body.at("messages"))
      if (mail["to"] == to && !mail["token"].get<std::string>().empty()) return mail["token"];
    return "";
  };
  p.browser.open("/account");
  const Answer wrong = p.browser.send(
      "/account/email", {{"new_email", "new@example.org"}, {"password", "not the password"}});
  CHECK_THAT(wrong.text, Contains("password is wrong"));
  CHECK_THAT(
      p.browser.send("/account/email", {{"new_email", "a@b@c"}, {"password", p.ada.password}}).text,
      Contains("name@example.org"));
  CHECK_THAT(expect(200, p.browser.send("/account/email", {{"new_email", "new@example.org"},
                                                           {"password", p.ada.password}}))
                 .text,
             Contains("mail to both addresses"));
  const std::string confirm = token("new@example.org"), stop = token(p.ada.email);
  expect(200, p.browser.open("/email-change?token=" + confirm));
  CHECK_THAT(expect(200, p.browser.send("/email-change", {{"token", confirm}})).text,
             Contains("Your address was changed"));
  CHECK(p.browser.send("/email-change", {{"token", confirm}}).status == 422);
  CHECK_THAT(p.browser.open("/account").text, Contains("new@example.org"));
  expect(200, p.browser.open("/email-change/stop?token=" + stop));
  CHECK_THAT(expect(200, p.browser.send("/email-change/stop", {{"token", stop}})).text,
             Contains("has this address again"));
  CHECK(p.browser.open("/account").status == 303);
  p.browser.log_in(p.ada);
  CHECK_THAT(p.browser.open("/account").text, Contains(p.ada.email));
}

}  // namespace
