// Clients that nobody has registered, over the API and on the hosted pages.
#include <catch2/catch.hpp>

#include "api/gate/browser_session.h"
#include "api/pages/pages.h"
#include "controller/base/url.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/apps/built_in.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using berth::test::code_verifier;
using Catch::Contains;
using Catch::StartsWith;

const std::string client_url = "https://editor.example.org/client.json";
const std::string callback = "http://127.0.0.1:49152/callback";

struct Fixture {
  GateWorld g;
  accounts::User bob = g.world.verified_user("bob");
  std::optional<accounts::Session> session = g.world.log_in(bob);
  int fetches = 0;
  json document = {{"client_id", client_url},
                   {"client_name", "Editor"},
                   {"redirect_uris", json::array({"http://127.0.0.1/callback"})}};
  prometheus::Registry registry;
  HttpMetrics metrics{registry};
  std::optional<pages::Pages> site;

  Fixture() {
    g.world.write(apps::add_built_in);
    g.services.memory.client_documents = std::make_shared<oauth::ClientDocuments>(
        g.world.clock,
        [this](const std::string&) {
          ++fetches;
          return document.dump();
        },
        apps::ClientUrls::only_https);
    site.emplace(g.services, metrics);
  }
  std::string parameters(const std::string& more = "") const {
    return "response_type=code&client_id=" + percent_encode(client_url) +
           "&redirect_uri=" + percent_encode(callback) +
           "&scope=openid%20email&state=s&code_challenge=" + base64url(sha256(code_verifier)) +
           "&code_challenge_method=S256" + more;
  }
  Answered ask(const std::string& more = "") {
    return g.ask("GET", "/api/oauth/authorize?" + parameters(more),
                 {bearer(accounts::session_jwt(*session, g.world.keys))});
  }
  Answered exchange(const std::string& code) {
    return g.ask("POST", "/api/oauth/token", {},
                 json{{"grant_type", "authorization_code"},
                      {"code", code},
                      {"redirect_uri", callback},
                      {"code_verifier", code_verifier},
                      {"client_id", client_url}}
                     .dump());
  }
  Response open(const std::string& method, const std::string& path, const std::string& query,
                const std::string& body = "") {
    Request request = {.method = method,
                       .path = path,
                       .raw_query = query,
                       .query = parse_form(query).value(),
                       .headers = {},
                       .host = "api.example.org",
                       .remote_address = "192.0.2.1",
                       .body = body};
    request.headers.add("Accept", "text/html");
    request.headers.add("Sec-Fetch-Site", "same-origin");
    request.headers.add("Origin", "https://api.example.org");
    const std::string cookies =
        "__Host-berth_form=form" +
        (session ? "; __Host-berth_session=" + accounts::session_jwt(*session, g.world.keys)
                 : std::string());
    request.headers.add("Cookie", cookies);  // refers to the text
    Response response;
    REQUIRE(site->handle(request, response));
    return response;
  }
  static std::string location(const Response& response) {
    for (const auto& [name, value] : response.headers)
      if (name == "Location") return value;
    return "";
  }
  std::int64_t rows() {
    return g.world.read([](db::Tx& tx) {
      return tx.number(R"(SELECT count(*) FROM apps WHERE unregistered_until IS NOT NULL)");
    });
  }
};

TEST_CASE("the metadata say whether clients needn't be registered") {
  Fixture f;
  const char* document = "/.well-known/oauth-authorization-server";
  CHECK(f.g.ask("GET", document).body.at("client_id_metadata_document_supported") == true);
  GateWorld without;
  CHECK(without.ask("GET", document).body.at("client_id_metadata_document_supported") == false);
}

TEST_CASE("a client that isn't registered gets a login, and no operation of an app") {
  Fixture f;
  const auto code = f.ask();
  REQUIRE(code.status == 200);
  CHECK(code.body.at("iss") == "https://api.example.org");
  const auto tokens = f.exchange(code.body.at("code"));
  REQUIRE(tokens.status == 200);
  CHECK(tokens.body.at("scope") == "openid email");
  CHECK(tokens.body.contains("id_token"));
  const std::string text = tokens.body.at("id_token");
  const size_t begin = text.find('.') + 1;
  const json claims =
      json::parse(parse_base64url(text.substr(begin, text.rfind('.') - begin)).value());
  CHECK(claims.at("aud") == client_url);
  const Header token = bearer(tokens.body.at("access_token"));
  CHECK(f.g.ask("GET", "/api/oauth/userinfo", {token}).body.at("email") == "bob@example.org");
  for (const Route& route : routes()) {
    const Access& access = route.guards.access;
    if (access.kind != Access::Kind::oauth && access.kind != Access::Kind::session_or_oauth)
      continue;
    const bool is_login = std::ranges::any_of(
        access.any_of, [](Scope scope) { return ScopeSet::identity().has(scope); });
    if (is_login) continue;
    INFO(route.request);
    CHECK(f.g.ask(std::string(route.method()),
                  path_with(route, "01936f5e-7c1a-7000-8000-00000000000c"), {token})
              .error() == "403 insufficient_scope");
  }
}

TEST_CASE("where no documents are fetched, the client is unknown") {
  Fixture f;
  f.g.services.memory.client_documents.reset();
  CHECK(f.ask().error() == "400 invalid_request");
  CHECK(f.fetches == 0);
}

TEST_CASE("a document that isn't the client's gives no code and no redirect") {
  Fixture f;
  f.document["client_id"] = "https://evil.example.org/client.json";
  const auto refused = f.ask();
  CHECK(refused.error() == "400 invalid_request");
  CHECK_FALSE(refused.body.contains("redirect_to"));
  const Response page = f.open("GET", "/api/oauth/authorize", f.parameters());
  CHECK(page.status == 400);
  CHECK_THAT(page.body, Contains("has another client_id than its URL"));
  CHECK(f.rows() == 0);
}

TEST_CASE("the consent page says that nobody has registered the client") {
  Fixture f;
  f.document["client_name"] = "<b>Bank</b>";
  f.g.services.rules.oauth.family_lifetime = std::chrono::days(400);  // such clients get less
  const Response page = f.open("GET", "/api/oauth/authorize", f.parameters());
  REQUIRE(page.status == 200);
  CHECK_THAT(page.body, Contains("<bdi>editor.example.org</bdi></strong> asks for access") &&
                            Contains("Nobody has registered this program") &&
                            Contains("<bdi>" + client_url + "</bdi> describes it") &&
                            Contains("&lt;b&gt;Bank") && !Contains("<b>Bank") &&
                            Contains("127.0.0.1:49152") && !Contains("belongs to") &&
                            Contains("its access ends after 90 days"));
  CHECK(f.rows() == 0);  // a look writes nothing
  const std::string form = f.parameters() + "&without_session=yes&csrf=" +
                           csrf_token(f.g.world.keys, "form", f.session->id);
  CHECK_THAT(Fixture::location(f.open("POST", "/consent", "", form + "&decision=deny")),
             StartsWith(callback) && Contains("error=access_denied"));
  CHECK(f.rows() == 0);
  CHECK_THAT(Fixture::location(f.open("POST", "/consent", "", form + "&decision=allow")),
             StartsWith(callback + "?code=ac_live_"));
  CHECK(f.rows() == 1);
  CHECK(f.fetches == 1);
  // The audit log says to which app.
  CHECK(f.g.world.read([](db::Tx& tx) {
    return tx.number(R"(
        SELECT count(*)
        FROM audit_log
        JOIN apps ON apps.id = audit_log.target
        WHERE action = 'page_consent' AND target_kind = 'app' AND app_id IS NULL)");
  }) == 1);
}

TEST_CASE("nobody is sent to a client that isn't registered before they have decided") {
  Fixture f;
  for (const char* wrong : {"&response_mode=fragment", "&max_age=x", "&prompt=none"}) {
    const Response page = f.open("GET", "/api/oauth/authorize", f.parameters(wrong));
    CHECK(page.status == 400);
    CHECK(Fixture::location(page) == "");
  }
}

TEST_CASE("nothing is fetched before somebody has logged in") {
  Fixture f;
  f.session.reset();
  const std::string login =
      Fixture::location(f.open("GET", "/api/oauth/authorize", f.parameters()));
  CHECK_THAT(login, StartsWith("/login?next="));
  const Response page = f.open("GET", "/login", login.substr(login.find('?') + 1));
  CHECK_THAT(page.body, Contains("editor.example.org"));
  CHECK(f.open("GET", "/api/oauth/authorize", f.parameters("&prompt=none")).status == 400);
  CHECK(f.fetches == 0);
}

}  // namespace
