// The pages of the account: what is offered to whoever changes what logs them in.
#include <catch2/catch.hpp>

#include "api/gate/browser_session.h"
#include "api/pages/pages.h"
#include "controller/domain/accounts/admin_roles.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/outbox.h"
#include "tests/api/gate_world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using Catch::Contains;

constexpr const char* password = "correct horse battery";
const std::string end_others = "action=\"/account/sessions/end-others\"";

struct Browser {
  GateWorld g;
  accounts::User bob = g.world.verified_user("bob");
  accounts::Session session = g.world.log_in(bob);
  prometheus::Registry registry;
  HttpMetrics metrics{registry};
  pages::Pages site{g.services, metrics};

  Response open(const std::string& method, const std::string& path, const std::string& body = "",
                const std::string& query = "") {
    Request request = {.method = method,
                       .path = path,
                       .raw_query = query,
                       .query = parse_form(query).value(),
                       .headers = {},
                       .host = "api.example.org",
                       .remote_address = "192.0.2.1",
                       .body = body};
    request.headers.add("Accept", "text/html");
    const std::string cookies = "__Host-berth_form=form; __Host-berth_session=" +
                                accounts::session_jwt(session, g.world.keys);
    request.headers.add("Cookie", cookies);
    Response response;
    REQUIRE(site.handle(request, response));
    return response;
  }
  Response submit(const std::string& path, const std::string& fields = "") {
    return open("POST", path,
                "csrf=" + csrf_token(g.world.keys, "form", session.id) +
                    (fields.empty() ? "" : "&" + fields));
  }
  bool is_alive(const accounts::Session& one) {
    return g.world.read(
        [&](db::Tx& tx) { return accounts::authenticated_at(tx, one.id).has_value(); });
  }
  // Turns the second factor on, and returns the page with the recovery codes.
  Response enable_totp() {
    const std::string page = submit("/account/totp/setup").body;
    const std::string before = "<code class=\"secret\">";
    const size_t from = page.find(before) + before.size();
    const std::string secret = page.substr(from, page.find('<', from) - from);
    return submit("/account/totp/enable",
                  "code=" + berth::test::totp(secret, to_millis(g.world.clock.now()) / 1000));
  }
};

TEST_CASE("who turns a second factor on may end their other sessions, and no others") {
  Browser b;
  const accounts::Session other = b.g.world.log_in(b.bob);
  const accounts::Session of_ada = b.g.world.log_in(b.g.world.verified_user("ada"));
  const Response codes = b.enable_totp();
  REQUIRE(codes.status == 200);
  CHECK_THAT(codes.body, Contains(end_others) && Contains("Save the codes first."));
  CHECK(b.is_alive(other));  // it is an offer

  CHECK(b.open("POST", "/account/sessions/end-others").status == 403);
  CHECK(b.is_alive(other));
  const Response ended = b.submit("/account/sessions/end-others");
  CHECK(ended.status == 200);
  CHECK_THAT(ended.body, Contains("Your other sessions have ended.") && !Contains(end_others));
  CHECK_FALSE(b.is_alive(other));
  CHECK(b.is_alive(b.session));
  CHECK(b.is_alive(of_ada));
}

TEST_CASE("who is logged in nowhere else is offered nothing") {
  Browser b;
  CHECK_THAT(b.enable_totp().body, !Contains(end_others));
  CHECK_THAT(b.open("GET", "/account").body, !Contains(end_others));
  b.g.world.log_in(b.bob);
  CHECK_THAT(b.open("GET", "/account").body, Contains(end_others));
}

TEST_CASE("with a passkey as the only second factor, the account's pages ask for it first") {
  Browser b;
  b.g.world.write([&](db::Tx& tx) {
    tx.execute(R"(
        INSERT INTO passkeys (id, user_id, credential_id, algorithm, public_key, sign_count, synced,
                              name, created_at)
        VALUES ('passkey', $1, 'credential', -7, 'key', 0, 0, 'laptop', 0))",
               b.bob.id);
  });
  const std::string proof = "Prove your second factor";
  const std::string new_email = "new_email=bob%40example.net&password=";
  b.g.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE users SET password_hash = $2 WHERE id = $1", b.bob.id,
               b.g.passwords.hash(password));
  });
  CHECK_THAT(b.submit("/account/email", new_email + "correct+horse+battery").body,
             Contains(proof) && Contains("name=\"next\" value=\"/account\"") &&
                 Contains("Before you change how you log in"));
  // No secret is made that the next page would replace.
  CHECK_THAT(b.submit("/account/totp/setup").body,
             Contains(proof) && !Contains("<code class=\"secret\">"));
  b.g.world.write([&](db::Tx& tx) { accounts::note_second_factor(tx, b.session.id); });
  CHECK_THAT(b.submit("/account/totp/setup").body, Contains("<code class=\"secret\">"));
  CHECK_THAT(b.submit("/account/email", new_email + "wrong").body,
             Contains("The password is wrong.") && !Contains(proof));
  CHECK_THAT(b.submit("/account/email", new_email + "correct+horse+battery").body,
             Contains("We have sent a mail to both addresses."));
}

TEST_CASE("the app's request outlives the login's side steps") {
  Browser b;
  const std::string next = "next=%2Fapi%2Foauth%2Fauthorize%3Fstate%3Ds";
  CHECK_THAT(b.open("GET", "/forgot-password", "", next).body,
             Contains("href=\"/login?" + next + "\""));
  CHECK_THAT(b.submit("/forgot-password", "email=bob%40example.org&" + next).body,
             Contains("href=\"/login?" + next + "\""));
}

TEST_CASE("a form of another site leaves the form cookie as it is") {
  Browser b;
  const auto cookie_of = [&](const std::string& method, const std::string& path,
                             const std::string& origin) {
    Request request = {.method = method,
                       .path = path,
                       .raw_query = {},
                       .query = {},
                       .headers = {},
                       .host = "api.example.org",
                       .remote_address = "192.0.2.1",
                       .body = method == "POST" ? "a=b" : ""};
    request.headers.add("Accept", "text/html");
    if (!origin.empty()) request.headers.add("Origin", origin);
    Response response;
    REQUIRE(b.site.handle(request, response));
    for (const auto& [name, value] : response.headers)
      if (name == "Set-Cookie") return value;
    return std::string();
  };
  CHECK_THAT(cookie_of("GET", "/login", ""), Catch::StartsWith("__Host-berth_form="));
  CHECK(cookie_of("POST", "/login", "https://evil.example.org").empty());
  CHECK(cookie_of("POST", "/end-session", "https://evil.example.org").empty());
}

TEST_CASE("a decision on a page of the admins is mailed, as one over the API is") {
  Browser b;
  const accounts::User ada = b.g.world.verified_user("ada");
  const auto request = [&](Scope scope) {
    const apps::App app = b.g.world.new_app(ada).app;
    return b.g.world.write([&](db::Tx& tx) { return apps::request_scopes(tx, app, {scope}).id; });
  };
  const auto newest_mail = [&] {
    return b.g.world.read(
        [&](db::Tx& tx) { return outbox::list(tx, b.g.world.keys.data).front(); });
  };
  b.g.world.write([&](db::Tx& tx) {
    accounts::give_admin_role(tx, b.bob.id, accounts::AdminRole::admin, "test");
  });
  b.enable_totp();
  CHECK(b.submit("/admin/scope-requests/approve", "id=" + request(Scope::points_spend)).status ==
        200);
  CHECK(newest_mail().to == ada.email);
  // 1,000 characters, each of two bytes.
  std::string reason;
  for (int i = 0; i < 1000; ++i) reason += "%C3%BC";
  const std::string rejected = request(Scope::points_award);
  CHECK_THAT(
      b.submit("/admin/scope-requests/reject", "id=" + rejected + "&reason=" + reason + "x").body,
      Contains("must have 1 to 1000 characters"));
  CHECK(b.submit("/admin/scope-requests/reject", "id=" + rejected + "&reason=" + reason).status ==
        200);
  CHECK_THAT(newest_mail().body, Contains("\u00fc\u00fc"));
}

}  // namespace
