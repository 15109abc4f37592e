// Every operation and every hosted page, with every kind of login: who gets in, and who doesn't.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "api/gate/browser_session.h"
#include "api/pages/pages.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/api/gate_world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using pages::Who;

enum class Login {
  none,
  user,
  admin_without_factor,
  admin_with_stale_proof,
  admin_with_old_proof,
  admin_with_fresh_proof,
};
constexpr std::array logins = {Login::none,
                               Login::user,
                               Login::admin_without_factor,
                               Login::admin_with_stale_proof,
                               Login::admin_with_old_proof,
                               Login::admin_with_fresh_proof};
const char* name_of(Login login) {
  static constexpr std::array names = {"nobody",
                                       "a user",
                                       "an admin without a second factor",
                                       "an admin who proved it too long ago to read",
                                       "an admin who proved it too long ago to change something",
                                       "an admin who has just proven it"};
  return names.at(size_t(login));
}

const std::string nobody = "01936f5e-7c1a-7000-8000-000000000001";

std::string path_of(const Route& route) {
  std::string path;
  for (size_t at = 0; at < route.path().size();) {
    const size_t open = std::min(route.path().find('{', at), route.path().size());
    path += route.path().substr(at, open - at);
    if (open == route.path().size()) break;
    path += nobody;
    at = route.path().find('}', open) + 1;
  }
  return path;
}

// Whether browsers store the answer nowhere, and share no window with what it is shown in.
bool is_kept_nowhere(const Response& response) {
  const auto has = [&](const char* name, const char* value) {
    return std::ranges::any_of(response.headers, [&](const auto& field) {
      return field.first == name && field.second == value;
    });
  };
  return has("Cache-Control", "no-store") && has("Cross-Origin-Opener-Policy", "same-origin");
}

struct Accounts {
  GateWorld g;
  accounts::User user = g.world.verified_user("ada");
  accounts::User plain = admin("bea");
  accounts::User guarded = with_factor(admin("cleo"));

  Accounts() {
    g.services.cluster.probe_isolation = [] { return Isolation(); };
  }

  accounts::User admin(const std::string& name) {
    const auto found = g.world.verified_user(name);
    g.world.write([&](db::Tx& tx) {
      accounts::promote(tx, found.id, {.tier = {}, .is_admin = true}, "root");
    });
    return found;
  }
  accounts::User with_factor(const accounts::User& owner) {
    g.world.write([&](db::Tx& tx) {
      const std::string secret = two_factor::set_up(tx, owner, g.world.keys).secret;
      two_factor::enable(tx, owner,
                         berth::test::totp(secret, to_millis(g.world.clock.now()) / 1000),
                         g.world.keys, "https://api.example.org");
    });
    return owner;
  }
  // Begins a session for one request, which may end it. Returns nothing if nobody logs in.
  std::optional<accounts::Session> session(Login login) {
    if (login == Login::none) return std::nullopt;
    const accounts::User& who = login == Login::user                   ? user
                                : login == Login::admin_without_factor ? plain
                                                                       : guarded;
    const auto begun = g.world.log_in(who, 24h);
    // A proof of exactly the allowed age is too old.
    static const std::map<Login, Duration> ages = {
        {Login::admin_with_stale_proof, accounts::second_factor_reads_for},
        {Login::admin_with_old_proof, accounts::second_factor_fresh_for},
        {Login::admin_with_fresh_proof, Duration(0)}};
    if (const auto age = ages.find(login); age != ages.end())
      g.world.write([&](db::Tx& tx) {
        tx.execute("UPDATE sessions SET second_factor_at = $2 WHERE id = $1", begun.id,
                   tx.now() - age->second);
      });
    return begun;
  }
  std::string jwt(const std::optional<accounts::Session>& begun) {
    return begun ? accounts::session_jwt(*begun, g.world.keys) : std::string();
  }
};

// Whether the gate refused the request for who has sent it. What an operation refuses afterwards
// isn't counted: by then the caller was let in.
bool is_let_in(const Response& response, bool is_internal) {
  static const std::set<std::string> refusals = {"invalid_token", "wrong_token_type",
                                                 "token_expired", "token_revoked"};
  const json body = json::parse(response.body, nullptr, false);
  if (!body.is_object() || !body.contains("error")) return true;
  const json& error = body.at("error");
  const std::string code = error.is_string() ? error : error.at("code");
  return !refusals.contains(code) && !(is_internal && code == "forbidden");
}

// A proof that is too old for changes still counts for what only reads.
bool may_call(const Route& route, Login login, bool by_cookie) {
  const Access& access = route.guards.access;
  if (access.kind == Access::Kind::open) return true;
  if (login == Login::none) return false;
  if (access.kind == Access::Kind::internal)
    return by_cookie && access.first_party != Access::FirstParty::none &&
           (login == Login::admin_with_fresh_proof ||
            (login == Login::admin_with_old_proof && route.method() == "GET"));
  if (by_cookie) return access.first_party != Access::FirstParty::none;
  return access.kind == Access::Kind::session || access.kind == Access::Kind::session_or_oauth ||
         access.kind == Access::Kind::session_or_play_session;
}

TEST_CASE("each operation lets in exactly the logins that it is for") {
  Accounts a;
  int asked = 0, admitted = 0;
  for (const Route& route : routes())
    for (const Login login : logins)
      for (const bool by_cookie : {true, false}) {
        INFO(route.method() << " " << route.path() << " by " << name_of(login)
                            << (by_cookie ? " in the console" : " with a session JWT"));
        const std::string jwt = a.jwt(a.session(login));
        std::vector<Header> fields;
        if (by_cookie)
          fields = {{"Sec-Fetch-Site", "same-origin"}, {"Berth-Console", "1"}};
        else if (!jwt.empty())
          fields = {bearer(jwt)};
        if (by_cookie && !jwt.empty()) fields.push_back({"Cookie", "__Host-berth_session=" + jwt});
        const bool is_internal = route.guards.access.kind == Access::Kind::internal;
        const Response response =
            a.g.respond(std::string(route.method()), path_of(route), fields, "{}");
        const bool let_in = is_let_in(response, is_internal);
        if (route.path().starts_with("/api/")) CHECK(is_kept_nowhere(response));
        CHECK(let_in == may_call(route, login, by_cookie));
        ++asked;
        admitted += let_in && is_internal ? 1 : 0;
      }
  CHECK(asked == int(routes().size()) * 12);
  CHECK(admitted > 50);  // those of the internal operations that have a screen in the console
  WARN(routes().size() << " operations, " << asked << " requests");
}

enum class Outcome { shown, login, refused };

class Site : public Accounts {
 public:
  Outcome open(const pages::PageRow& row, Login login) {
    const auto begun = session(login);
    const std::string form_id = "a form id";
    const std::string csrf = csrf_token(g.world.keys, form_id, begun ? begun->id : std::string());
    const bool is_form = row.method == "POST";
    std::string cookies = "__Host-berth_form=" + form_id;
    if (begun) cookies += "; __Host-berth_session=" + jwt(begun);
    Request request = {.method = row.method,
                       .path = row.path,
                       .raw_query = {},
                       .query = {},
                       .headers = {},
                       .host = "api.example.org",
                       .remote_address = "192.0.2.1",
                       .body = is_form ? "csrf=" + csrf : ""};
    request.headers.add("Accept", "text/html");
    request.headers.add("Cookie", cookies);
    Response response;
    REQUIRE(pages_.handle(request, response));
    CHECK(is_kept_nowhere(response));
    text_ = response.body;
    const bool to_login =
        response.status == 303 && std::ranges::any_of(response.headers, [](const auto& field) {
          return field.first == "Location" && field.second.starts_with("/login");
        });
    // Logging out leads there, too, and so does the address of a mail's link without its token.
    if (to_login && row.path != "/logout" && row.path != "/verify-email") return Outcome::login;
    return response.status == 403 ? Outcome::refused : Outcome::shown;
  }
  const std::string& text() const { return text_; }

 private:
  prometheus::Registry registry_;
  HttpMetrics metrics_{registry_};
  pages::Pages pages_{g.services, metrics_};
  std::string text_;
};

Outcome expected(Who who, Login login) {
  if (who == Who::anybody) return Outcome::shown;
  if (login == Login::none) return Outcome::login;
  if (who == Who::admin && login != Login::admin_with_fresh_proof) return Outcome::refused;
  return Outcome::shown;
}

TEST_CASE("each hosted page lets in exactly the logins that it is for") {
  Site site;
  int of_admins = 0;
  for (const pages::PageRow& row : pages::Pages::rows()) {
    of_admins += row.path.starts_with("/admin/") ? 1 : 0;
    CHECK((row.who == Who::admin) == row.path.starts_with("/admin/"));
    for (const Login login : logins) {
      INFO(row.method << " " << row.path << " by " << name_of(login));
      CHECK(site.open(row, login) == expected(row.who, login));
    }
  }
  CHECK(of_admins > 0);
  WARN(pages::Pages::rows().size() << " pages and forms, " << of_admins << " of them admins'");
}

TEST_CASE("an admin's page says what the admin can do about a missing proof") {
  Site site;
  const pages::PageRow page = {
      .method = "GET", .path = "/admin/scope-requests", .name = {}, .who = Who::admin};
  site.open(page, Login::user);
  CHECK(site.text().find("for admins of the platform") != std::string::npos);
  site.open(page, Login::admin_without_factor);
  CHECK(site.text().find("href=\"/account/totp\"") != std::string::npos);
  site.open(page, Login::admin_with_old_proof);
  CHECK(site.text().find("action=\"/account/totp/prove\"") != std::string::npos);
}

}  // namespace
