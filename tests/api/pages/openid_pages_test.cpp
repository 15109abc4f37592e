// What OpenID Connect asks of the hosted pages: answers without a page, new logins, and logouts.
#include <catch2/catch.hpp>

#include "api/gate/browser_session.h"
#include "api/pages/pages.h"
#include "controller/base/url.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/audit.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using berth::test::code_verifier;
using berth::test::redirect_uri;
using Catch::Contains;
using Catch::StartsWith;

constexpr const char* password = "correct horse battery";
const std::string goodbye = "https://game.example.org/bye";

struct Browser {
  GateWorld g;
  accounts::User ada = g.world.verified_user("ada");
  accounts::User bob = g.world.verified_user("bob");
  apps::AppWithSecret registered = g.world.new_app(ada);
  apps::App app = registered.app;
  std::optional<accounts::Session> session = g.world.log_in(bob);
  prometheus::Registry registry;
  HttpMetrics metrics{registry};
  pages::Pages site{g.services, metrics};

  Browser() {
    g.world.write([&](db::Tx& tx) {
      apps::store_openid_settings(tx, app.id, {.post_logout_redirect_uris = {goodbye}});
      for (const auto* user : {&ada, &bob})
        tx.execute("UPDATE users SET password_hash = $2 WHERE id = $1", user->id,
                   g.passwords.hash(password));
    });
  }
  Response open(const std::string& method, const std::string& target,
                const std::string& body = "") {
    const size_t mark = std::min(target.find('?'), target.size());
    const std::string cookies =
        "__Host-berth_form=form" +
        (session ? "; __Host-berth_session=" + accounts::session_jwt(*session, g.world.keys)
                 : std::string());
    Request request = {.method = method,
                       .path = std::string_view(target).substr(0, mark),
                       .raw_query = {},
                       .query = {},
                       .headers = {},
                       .host = "api.example.org",
                       .remote_address = "192.0.2.1",
                       .body = body};
    if (mark < target.size()) {
      request.raw_query = std::string_view(target).substr(mark + 1);
      request.query = parse_form(request.raw_query).value();
    }
    request.headers.add("Accept", "text/html");
    request.headers.add("Cookie", cookies);
    Response response;
    REQUIRE(site.handle(request, response));
    return response;
  }
  std::string csrf() const {
    return "csrf=" + csrf_token(g.world.keys, "form", session ? session->id : std::string());
  }
  // Returns the field's values, one in a line.
  static std::string field(const Response& response, const std::string& name) {
    std::string values;
    for (const auto& [key, value] : response.headers)
      if (key == name) values += (values.empty() ? "" : "\n") + value;
    return values;
  }
  std::string location(const std::string& method, const std::string& target,
                       const std::string& body = "") {
    const Response response = open(method, target, body);
    CHECK(response.status == 303);
    return field(response, "Location");
  }
  std::string question(const std::string& more) const {
    return "/api/oauth/authorize?response_type=code&client_id=" + app.client_id +
           "&redirect_uri=" + percent_encode(redirect_uri) +
           "&scope=openid&state=s&code_challenge=" + base64url(sha256(code_verifier)) +
           "&code_challenge_method=S256" + more;
  }
  // Logs in to the app, and returns the ID token.
  std::string id_token() {
    return g.world.write([&](db::Tx& tx) {
      const auto code = oauth::authorize(tx, bob, g.world.authorization(app, "openid"),
                                         std::nullopt, session->id);
      const auto tokens = oauth::exchange_code(tx, app, code.value().code, redirect_uri,
                                               code_verifier, g.world.policy);
      return openid::id_token(tx, tokens.value(),
                              {.url = g.services.base_url, .data_key = g.world.keys.data});
    });
  }
  bool is_logged_in() {
    return g.world.read(
        [&](db::Tx& tx) { return accounts::authenticated_at(tx, session->id).has_value(); });
  }
  std::string goodbye_with(const std::string& more) const {
    return "/end-session?post_logout_redirect_uri=" + percent_encode(goodbye) + "&state=x" + more;
  }
};

TEST_CASE("with prompt=none the app gets an answer, and nobody sees a page") {
  Browser b;
  CHECK_THAT(b.location("GET", b.question("&prompt=none")), Contains("error=consent_required"));
  b.id_token();
  const std::string answer = b.location("GET", b.question("&prompt=none"));
  CHECK_THAT(answer, Contains(redirect_uri + "?code=ac_live_") && Contains("&state=s") &&
                         Contains("&iss=https%3A%2F%2Fapi.example.org"));
  // The code has an entry, as one over the API does; what was refused before has none.
  const auto entries = b.g.world.read([&](db::Tx& tx) {
    return audit::list(tx, {.user_id = b.bob.id}, {.page = 1, .page_size = 10}).items;
  });
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].target_kind == "app");
  CHECK(entries[0].target == b.app.id);
  CHECK(entries[0].token_kind == "console");
  CHECK(entries[0].token_id == b.session->id);
  CHECK_THAT(b.location("GET", b.question("&prompt=none%20login")),
             Contains("error=invalid_request"));
  b.g.world.clock.advance(61s);
  CHECK_THAT(b.location("GET", b.question("&prompt=none&max_age=60")),
             Contains("error=login_required"));
  b.session.reset();
  CHECK_THAT(b.location("GET", b.question("&prompt=none")),
             Contains(redirect_uri) && Contains("error=login_required"));
}

TEST_CASE("an app may ask by a form, which leads to the same question") {
  Browser b;
  const std::string question = b.question("&nonce=n");
  const std::string form = question.substr(question.find('?') + 1);
  b.session.reset();  // browsers send no cookies with it
  const std::string to = b.location("POST", "/api/oauth/authorize", form);
  CHECK(parse_form(to.substr(to.find('?') + 1)) == parse_form(form));
  CHECK_THAT(to, StartsWith("/api/oauth/authorize?"));
  CHECK(b.open("POST", "/api/oauth/authorize", form + "&state=" + std::string(5000, 's')).status ==
        400);
}

TEST_CASE("prompt=login and max_age lead to the login once, and then to the question") {
  Browser b;
  const std::string more = GENERATE("&prompt=login", "&prompt=select_account", "&max_age=0");
  CAPTURE(more);
  b.g.world.clock.advance(1s);
  const std::string login = b.location("GET", b.question(more));
  REQUIRE_THAT(login, Contains("/login?next="));
  const std::string next = percent_decode(login.substr(login.find('=') + 1), Plus::is_plus).value();
  CHECK_THAT(next,
             Contains("authenticated_since=") && !Contains("prompt=") && !Contains("max_age="));
  // Whoever is logged in sees the form nevertheless, and their address in it.
  const Response form = b.open("GET", login);
  CHECK(form.status == 200);
  CHECK_THAT(form.body, Contains("bob@example.org"));
  CHECK_THAT(b.location("GET", next), Contains("/login?next="));

  const Response logged_in = b.open(
      "POST", "/login",
      b.csrf() +
          "&email=bob%40example.org&password=correct+horse+battery&next=" + percent_encode(next));
  CHECK(logged_in.status == 303);
  CHECK(b.field(logged_in, "Location") == next);
  // It is the same session, which the apps know.
  CHECK_THAT(b.field(logged_in, "Set-Cookie"), !Contains("session"));
  CHECK(b.open("GET", next).status == 200);
  b.g.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM sessions WHERE user_id = $1", b.bob.id) == 1);
  });
}

TEST_CASE("a new login goes on in a session of its own if it has ended the one before") {
  Browser b;
  for (int i = 1; i < accounts::max_sessions_per_user; ++i) {
    b.g.world.clock.advance(1s);
    b.g.world.log_in(b.bob);
  }
  REQUIRE(b.is_logged_in());
  b.g.world.clock.advance(1s);
  const Response answer = b.open(
      "POST", "/login", b.csrf() + "&email=bob%40example.org&password=correct+horse+battery");
  CHECK(answer.status == 303);
  CHECK_FALSE(b.is_logged_in());
  CHECK_THAT(b.field(answer, "Set-Cookie"), Contains("session"));
  b.g.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM sessions WHERE user_id = $1", b.bob.id) ==
          accounts::max_sessions_per_user);
  });
}

TEST_CASE("if somebody else logs in, the session of the one before ends") {
  Browser b;
  b.g.world.clock.advance(1s);
  const Response answer = b.open(
      "POST", "/login", b.csrf() + "&email=ada%40example.org&password=correct+horse+battery");
  CHECK(answer.status == 303);
  CHECK_FALSE(b.is_logged_in());
  b.g.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM sessions WHERE user_id = $1", b.ada.id) == 1);
  });
}

TEST_CASE("whoever is logged in and isn't asked to log in again doesn't see the login") {
  Browser b;
  CHECK(b.location("GET", "/login?next=%2Faccount") == "/account");
  CHECK(b.location("GET", "/login?next=" + percent_encode(b.question("&max_age=3600"))) ==
        b.question("&max_age=3600"));
}

TEST_CASE("the app's hint is filled in, and its language is shown") {
  Browser b;
  b.session.reset();
  const std::string next = b.question("&login_hint=carl%40example.org&ui_locales=fr%20de-AT");
  const Response form = b.open("GET", "/login?next=" + percent_encode(next));
  CHECK_THAT(form.body, Contains("carl@example.org") && Contains("<html lang=\"de\""));
}

TEST_CASE("an app ends the session with the ID token of it, and with no other") {
  Browser b;
  const std::string token = b.id_token();
  // An older login of the same user: somebody has logged in again.
  const accounts::Session first = *b.session;
  b.session = b.g.world.log_in(b.bob);
  const Response asked = b.open("GET", b.goodbye_with("&id_token_hint=" + token));
  CHECK(asked.status == 200);
  CHECK_THAT(asked.body, Contains("bob") && Contains("/end-session/confirm"));
  CHECK(b.is_logged_in());
  b.session = first;
  // One that has expired is as good.
  b.g.world.clock.advance(2h);
  const Response ended = b.open("GET", b.goodbye_with("&id_token_hint=" + token));
  CHECK(ended.status == 303);
  CHECK(b.field(ended, "Location") == goodbye + "?state=x");
  CHECK_FALSE(b.is_logged_in());
}

TEST_CASE("nobody is sent to an address that the app hasn't registered") {
  Browser b;
  const std::string token = b.id_token();
  const auto status = [&](const std::string& query) {
    return b.open("GET", "/end-session?" + query).status;
  };
  const std::string evil = "post_logout_redirect_uri=https%3A%2F%2Fevil.example.org";
  CHECK(status(evil + "&id_token_hint=" + token) == 400);
  CHECK(status(evil + "&client_id=" + b.app.client_id) == 400);
  const std::string registered = "post_logout_redirect_uri=" + percent_encode(goodbye);
  CHECK(status(registered) == 400);
  CHECK(status(registered + "&client_id=client_unknown") == 400);
  CHECK(status(registered + "&client_id=client_unknown&id_token_hint=" + token) == 400);
  // The login's redirect URI isn't one for logouts.
  CHECK(status("post_logout_redirect_uri=" + percent_encode(redirect_uri) +
               "&client_id=" + b.app.client_id) == 400);
  CHECK(b.is_logged_in());
}

TEST_CASE("without a hint, whoever is logged in decides; whoever isn't goes on at once") {
  Browser b;
  const std::string client = "&client_id=" + b.app.client_id;
  CHECK(b.open("GET", b.goodbye_with(client)).status == 200);
  CHECK(b.open("GET", "/end-session").status == 200);
  const std::string form = b.goodbye_with(client).substr(std::string("/end-session?").size());
  CHECK(b.open("POST", "/end-session/confirm", form + "&decision=log_out").status == 403);
  CHECK(b.location("POST", "/end-session/confirm", b.csrf() + "&" + form + "&decision=stay") ==
        "/account");
  CHECK(b.is_logged_in());
  CHECK(b.location("POST", "/end-session/confirm", b.csrf() + "&" + form + "&decision=log_out") ==
        goodbye + "?state=x");
  CHECK_FALSE(b.is_logged_in());
  b.session.reset();
  CHECK(b.location("GET", b.goodbye_with(client)) == goodbye + "?state=x");
}

TEST_CASE("a form of an app leads to the page, and does nothing by itself") {
  Browser b;
  const std::string token = b.id_token();
  const std::string to =
      b.location("POST", "/end-session", "id_token_hint=" + token + "&state=a%20b&unknown=1");
  CHECK(to == "/end-session?id_token_hint=" + token + "&state=a%20b");
  CHECK(b.is_logged_in());
  CHECK(b.open("POST", "/end-session", "state=" + std::string(5000, 'x')).status == 400);
}

TEST_CASE("nobody is sent to an app that is suspended") {
  Browser b;
  b.g.world.write([&](db::Tx& tx) { apps::suspend(tx, b.app.id, "root"); });
  const auto stays = [&](const Response& response, int status) {
    CHECK(response.status == status);
    CHECK(Browser::field(response, "Location").empty());
  };
  stays(b.open("GET", b.question("")), 400);
  stays(b.open("GET", b.question("&prompt=none")), 400);
  const std::string question = b.question("");
  stays(b.open("POST", "/consent",
               b.csrf() + "&" + question.substr(question.find('?') + 1) + "&decision=deny"),
        400);
  b.session.reset();
  stays(b.open("GET", b.question("&prompt=none")), 400);
  stays(b.open("GET", b.goodbye_with("&client_id=" + b.app.client_id)), 200);
}

}  // namespace
