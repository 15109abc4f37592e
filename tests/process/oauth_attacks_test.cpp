// Attacks on the authorization server, by the sections of RFC 9700 (OAuth 2.0 Security Best Current
// Practice) that apply without a browser, and some that it doesn't name. docs/security.md lists
// them.
#include <catch2/catch.hpp>
#include <future>
#include <set>

#include "controller/base/crypto.h"
#include "tests/process/oauth.h"

using namespace berth;
using namespace berth::process;
using Catch::Contains;

namespace {

const Flags unlimited = {"--rate-limits", "off"};
const std::string verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const std::string challenge = base64url(sha256(verifier));

struct Platform {
  explicit Platform(const Berthd& on = shared_berthd(unlimited)) : berthd(on) {}
  const Berthd& berthd;
  User ada = register_verified_user(berthd, fresh_name("ada"));
  App app = create_app(berthd, ada, {"profile:read"});
  Client anybody{berthd};

  Answer authorize(const Form& parameters) { return ask_authorization(berthd, ada, parameters); }
  // Sends the request with one parameter changed.
  Answer with(const std::string& name, const std::string& value) {
    Form form = authorization(app, "profile:read", challenge);
    form.erase(name);
    form.emplace(name, value);
    return authorize(form);
  }
  Answer without(const std::string& name) {
    Form form = authorization(app, "profile:read", challenge);
    form.erase(name);
    return authorize(form);
  }
  Answer token(const json& body) { return anybody.post("/api/oauth/token", body); }
  Tokens tokens() {
    return tokens_of(expect(
        200, token(code_exchange(app, process::authorize(berthd, ada, app, {"profile:read"})))));
  }
};

// Checks that nothing would send a browser anywhere.
void check_not_redirected(const Answer& answer) {
  CHECK(answer.status == 400);
  CHECK(!answer.has_header("Location"));
  CHECK(!answer.body.contains("redirect_to"));
  CHECK(!answer.body.contains("code"));
}

int successes(std::vector<std::future<Answer>>& answers) {
  int count = 0;
  for (auto& answer : answers) count += answer.get().status == 200 ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("4.1 redirect URIs are compared exactly") {
  Platform p;
  const std::string registered = p.app.redirect_uri;  // https://ada.example.org/callback
  for (const std::string& uri :
       {registered + "/", registered + "?x=1", registered + "/../evil", registered + "%2f",
        registered + "#fragment", std::string("https://ada.example.org.evil.example/callback"),
        std::string("https://evil.example/https://ada.example.org/callback"),
        std::string("https://ada.example.org@evil.example/callback"),
        std::string("https://ADA.example.org/callback"),
        std::string("https://ada.example.org:443/callback"),
        std::string("https://ada.example.org/Callback"),
        std::string("http://ada.example.org/callback"), std::string("https://ada.example.org"),
        std::string("//ada.example.org/callback"), std::string("javascript:alert(1)"),
        std::string("*"), std::string()}) {
    INFO(uri);
    const Answer answer = p.with("redirect_uri", uri);
    CHECK(answer.code() == "invalid_request");
    check_not_redirected(answer);
  }
}

TEST_CASE("4.1 apps can't register a URI that could be turned into another redirect URI") {
  Platform p;
  Client session(p.berthd, p.ada.jwt);
  for (const char* uri :
       {"http://game.example.org/cb", "https://game.example.org/cb#x",
        "https://user@game.example.org/", "https://game.example.org\\@evil.example/",
        "javascript:alert(1)", "data:text/html,x", "https://game.example.org/\r\nSet-Cookie: a=b",
        "https://game.example.org/ x", "game", "", "http://127.0.0.1.evil.example/cb",
        "https://"}) {
    INFO(uri);
    const json body = {{"app_name", "x"}, {"redirect_uris", {uri}}};
    CHECK(session.post("/api/oauth/apps", body).code() == "validation_failed");
  }
}

TEST_CASE("4.3 a token in the query or the body isn't accepted") {
  Platform p;
  const Operator bob = operator_with_token(p.berthd, fresh_name("bob"));
  CHECK(p.anybody.get("/api/deploy/apps?access_token=" + bob.tokens.access_token).status == 401);
  CHECK(p.anybody.post("/api/deploy/apps", {{"access_token", bob.tokens.access_token}}).status ==
        401);
  CHECK(p.anybody.get("/api/auth/me?token=" + bob.user.jwt).status == 401);
}

TEST_CASE("4.4 mix-up: every answer of authorize names its issuer") {
  Platform p;
  const Answer given = p.authorize(authorization(p.app, "profile:read", challenge));
  const Answer refused = p.with("scope", "points:spend");
  const json metadata = p.anybody.get("/.well-known/oauth-authorization-server").body;
  CHECK(metadata.at("authorization_response_iss_parameter_supported") == true);
  for (const Answer& answer : {given, refused}) {
    CHECK(answer.body.at("iss") == metadata.at("issuer"));
    CHECK_THAT(answer.body.at("redirect_to").get<std::string>(),
               Contains("iss=http%3A%2F%2F127.0.0.1"));
  }
  CHECK(refused.code() == "invalid_scope");
  CHECK_THAT(refused.body.at("redirect_to").get<std::string>(), Contains("error=invalid_scope"));
}

TEST_CASE("4.5 a stolen code is of no use to another verifier, client, redirect URI or user") {
  Platform p;
  const App other = create_app(p.berthd, p.ada, {"profile:read"});
  const Code code = authorize(p.berthd, p.ada, p.app, {"profile:read"});
  const auto refused = [&](const json& changes) {
    json body = code_exchange(p.app, code);
    body.update(changes);
    return p.token(body).code();
  };
  CHECK(refused({{"code_verifier", verifier}}) == "invalid_grant");
  CHECK(refused({{"client_id", other.client_id}, {"client_secret", other.client_secret}}) ==
        "invalid_grant");
  CHECK(refused({{"redirect_uri", "https://evil.example/callback"}}) == "invalid_grant");
  CHECK(refused({{"client_secret", other.client_secret}}) == "invalid_client");
  // An attacker's own code in the victim's session fails, because it belongs to the attacker's
  // challenge.
  const Code injected = authorize(p.berthd, p.ada, p.app, {"profile:read"});
  CHECK(refused({{"code", injected.code}}) == "invalid_grant");
  CHECK(refused(json::object()) == "");  // none of these attempts used it up
}

TEST_CASE("4.6 no token ever comes from authorize") {
  Platform p;
  for (const char* type : {"token", "id_token", "code token", "none", "Code", ""}) {
    const Answer answer = p.with("response_type", type);
    INFO(type);
    CHECK(answer.status == 400);
    CHECK(!answer.body.contains("access_token"));
    CHECK(!answer.body.contains("code"));
  }
  for (const char* mode : {"fragment", "form_post", "web_message"})
    CHECK(p.with("response_mode", mode).code() == "invalid_request");
}

TEST_CASE("4.7 state is returned as it was sent, and nowhere else") {
  Platform p;
  const std::string state = "a b&c=d#e\r\nf\"<script>%00\xc3\xa4";
  const Answer answer = expect(200, p.with("state", state));
  CHECK(answer.body.at("state") == state);
  const std::string target = answer.body.at("redirect_to");
  CHECK_THAT(target, Contains("state=a%20b%26c%3Dd%23e%0D%0Af%22%3Cscript%3E%2500%C3%A4&iss="));
  for (const auto& [name, value] : answer.headers) CHECK(value.find("script") == std::string::npos);
}

TEST_CASE("4.8 PKCE can't be left out, weakened or dropped later") {
  Platform p;
  CHECK(p.without("code_challenge").code() == "invalid_request");
  CHECK(p.without("code_challenge_method").code() == "invalid_request");
  CHECK(p.with("code_challenge_method", "plain").code() == "invalid_request");
  CHECK(p.with("code_challenge_method", "s256").code() == "invalid_request");
  CHECK(p.with("code_challenge", "").code() == "invalid_request");
  CHECK(p.with("code_challenge", "short").code() == "invalid_request");
  const Answer given = expect(200, p.authorize(authorization(p.app, "profile:read", challenge)));
  const Code code = {.code = given.body.at("code"), .verifier = verifier};
  json body = code_exchange(p.app, code);
  body.erase("code_verifier");
  CHECK(p.token(body).code() == "invalid_request");
  body["code_verifier"] = "";
  CHECK(p.token(body).code() == "invalid_request");
  body["code_verifier"] = challenge;  // as it would be with the method "plain"
  CHECK(p.token(body).code() == "invalid_grant");
  CHECK(p.token(code_exchange(p.app, code)).status == 200);
}

TEST_CASE("4.10 a stolen access token ends with its revocation") {
  Platform p;
  const Tokens tokens = p.tokens();
  CHECK(works(p.berthd, tokens.access_token));
  CHECK(revoke(p.berthd, p.app, tokens.access_token).status == 200);
  CHECK(!works(p.berthd, tokens.access_token));
}

TEST_CASE("4.11 berthd isn't an open redirector") {
  Platform p;
  check_not_redirected(p.with("client_id", "client_unknown"));
  check_not_redirected(p.without("redirect_uri"));
  Form twice = authorization(p.app, "profile:read", challenge);
  twice.emplace("redirect_uri", "https://evil.example/");
  check_not_redirected(p.authorize(twice));
  // Errors are sent to the registered URI only.
  const std::string target = p.with("scope", "unheard:of").body.at("redirect_to");
  CHECK_THAT(target, Catch::StartsWith(p.app.redirect_uri + "?error="));
}

TEST_CASE("4.12 authorize doesn't answer with a redirect that repeats a POST") {
  Platform p;
  const Form good = authorization(p.app, "profile:read", challenge);
  for (const char* method : {"GET", "POST", "HEAD"}) {
    const Answer answer =
        Client(p.berthd, p.ada.jwt)
            .ask({.method = method, .path = "/api/oauth/authorize?" + form_encoded(good)});
    CHECK(answer.status != 307);
    CHECK(answer.status != 308);
  }
}

TEST_CASE("4.14 of 32 parallel uses of a refresh token or a code, one succeeds") {
  Platform p;
  const auto race = [&](const json& body) {
    std::vector<std::future<Answer>> answers;
    for (int i = 0; i < 32; ++i)
      answers.push_back(std::async(
          std::launch::async, [&] { return Client(p.berthd).post("/api/oauth/token", body); }));
    return successes(answers);
  };
  const Tokens tokens = p.tokens();
  CHECK(race(refresh_exchange(p.app, tokens.refresh_token)) == 1);
  CHECK(race(code_exchange(p.app, authorize(p.berthd, p.ada, p.app, {"profile:read"}))) == 1);
}

TEST_CASE("4.14 a replayed refresh token ends the thief's and the victim's tokens") {
  const Berthd own(unlimited);
  Platform p(own);
  const Tokens tokens = p.tokens();
  const Tokens thief =
      tokens_of(expect(200, p.token(refresh_exchange(p.app, tokens.refresh_token))));
  expect(200, p.anybody.post("/api/internal/clock", {{"advance_seconds", 11}}, admin(p.berthd)));
  CHECK(p.token(refresh_exchange(p.app, tokens.refresh_token)).status == 401);
  CHECK(!works(p.berthd, thief.access_token));
  CHECK(!works(p.berthd, tokens.access_token));
  CHECK(p.token(refresh_exchange(p.app, thief.refresh_token)).status == 401);
}

TEST_CASE("4.14 a refresh token is bound to its client and its scopes") {
  Platform p;
  const App other = create_app(p.berthd, p.ada, {"profile:read"});
  const Tokens tokens = p.tokens();
  CHECK(p.token(refresh_exchange(other, tokens.refresh_token)).status == 401);
  json more = refresh_exchange(p.app, tokens.refresh_token);
  more["scope"] = "profile:read points:read";
  CHECK(p.token(more).code() == "invalid_scope");
  CHECK(works(p.berthd, tokens.access_token));
  CHECK(p.token(refresh_exchange(p.app, tokens.refresh_token)).status == 200);
}

TEST_CASE("4.15 a client can't pose as a user") {
  Platform p;
  const json grant = {{"grant_type", "client_credentials"},
                      {"client_id", p.app.client_id},
                      {"client_secret", p.app.client_secret}};
  // The scope is missing even though the app may ask users for it, because its owner hasn't
  // consented as a user.
  const App shop = create_app(p.berthd, p.ada, {"points:spend"});
  approve(p.berthd, p.ada, shop, {"points:spend"});
  json money = {{"grant_type", "client_credentials"},
                {"client_id", shop.client_id},
                {"client_secret", shop.client_secret}};
  CHECK(expect(200, p.token(money)).body.at("scope") == "profile:read points:read");
  money["scope"] = "points:spend";
  CHECK(p.token(money).code() == "invalid_scope");
  const std::string token = expect(200, p.token(grant)).body.at("access_token");
  const json seen = inspect(p.berthd, p.app, token).body;
  CHECK(seen.at("sub") == p.ada.id);  // a UUID, which no client can choose as its client_id
  CHECK(seen.at("client_id") != seen.at("sub"));
  CHECK(Client(p.berthd, token).get("/api/auth/me").code() == "wrong_token_type");
}

TEST_CASE("another client's token can't be introspected, revoked or refreshed") {
  Platform p;
  const User mallory = register_verified_user(p.berthd, fresh_name("mallory"));
  const App evil = create_app(p.berthd, mallory, {"profile:read"});
  const Tokens tokens = p.tokens();
  for (const std::string& token :
       {tokens.access_token, tokens.refresh_token, tokens.session_token}) {
    CHECK(inspect(p.berthd, evil, token).body == json{{"active", false}});
    CHECK(revoke(p.berthd, evil, token).code() == "invalid_grant");
    CHECK(inspect(p.berthd, p.app, token).body.at("active") == true);
  }
  CHECK(p.token(refresh_exchange(evil, tokens.refresh_token)).status == 401);
}

TEST_CASE("a token of one kind isn't accepted as another kind") {
  Platform p;
  const Operator bob = operator_with_token(p.berthd, fresh_name("bob"));
  struct Door {
    const char* path;
    std::string key;
  };
  const std::vector<Door> doors = {{"/api/auth/me", bob.user.jwt},
                                   {"/api/deploy/apps", bob.tokens.access_token},
                                   {"/api/sessions/status", bob.tokens.session_token}};
  std::vector<std::string> keys = {bob.tokens.refresh_token, bob.app.client_secret};
  for (const Door& door : doors) keys.push_back(door.key);
  for (const Door& door : doors)
    for (const std::string& key : keys) {
      const Answer answer = Client(p.berthd, key).get(door.path);
      INFO(door.path << " " << key.substr(0, 8));
      CHECK(answer.status == (key == door.key ? 200 : 401));
      if (key != door.key && key != bob.app.client_secret)
        CHECK(answer.code() == "wrong_token_type");
    }
  CHECK(p.token(refresh_exchange(bob.app, bob.tokens.access_token)).status == 401);
  CHECK(p.token(refresh_exchange(bob.app, bob.user.jwt)).status == 401);
}

TEST_CASE("a session JWT that somebody else has signed isn't accepted") {
  Platform p;
  const std::string jwt = p.ada.jwt;
  const std::string payload = jwt.substr(jwt.find('.') + 1, jwt.rfind('.') - jwt.find('.') - 1);
  const std::string none = base64url(R"({"alg":"none","typ":"JWT"})");
  const std::string header = jwt.substr(0, jwt.find('.'));
  for (const std::string& forged :
       {none + "." + payload + ".", none + "." + payload + "." + jwt.substr(jwt.rfind('.') + 1),
        header + "." + payload + ".",
        header + "." + payload + "." +
            base64url(hmac_sha256("secret", std::string(header) + "." + payload))}) {
    CHECK(Client(p.berthd, forged).get("/api/auth/me").status == 401);
  }
}

TEST_CASE("a player's token never controls an operator's deployments") {
  Platform p;
  const Operator owner = operator_with_token(p.berthd, "owner");
  const User player = register_verified_user(p.berthd, "player");
  for (const char* scope : {"deploy:manage", "profile:read deploy:manage"}) {
    const Answer refused =
        ask_authorization(p.berthd, player, authorization(owner.app, scope, challenge));
    CHECK(refused.code() == "invalid_scope");
  }
  const Answer given =
      ask_authorization(p.berthd, player, authorization(owner.app, "profile:read", challenge));
  const Code code = {.code = expect(200, given).body.at("code"), .verifier = verifier};
  json exchange = code_exchange(owner.app, code);
  exchange["scope"] = "deploy:manage";
  const Answer tokens = expect(200, p.token(exchange));
  CHECK(tokens.body.at("scope") == "profile:read");
  Client api(p.berthd, tokens.body.at("access_token"));
  CHECK(api.get("/api/deploy/apps").code() == "insufficient_scope");
  json more = refresh_exchange(owner.app, tokens.body.at("refresh_token"));
  more["scope"] = "deploy:manage";
  CHECK(p.token(more).code() == "invalid_scope");
}

TEST_CASE("no input gets into a header or splits an answer") {
  Platform p;
  const Answer odd = p.anybody.get("/health", {{"X-Request-Id", "a b\tc"}});
  CHECK(odd.header("X-Request-Id").find('\t') == std::string::npos);
  const std::string split = "x%0d%0aSet-Cookie:%20evil=1";
  for (const std::string& path :
       {"/api/oauth/authorize?client_id=" + split, "/api/oauth/authorize?state=" + split,
        "/api/oauth/apps/" + split, "/api/operators/" + split, "/" + split}) {
    const Answer answer = Client(p.berthd, p.ada.jwt).get(path);
    INFO(path);
    CHECK(!answer.has_header("Set-Cookie"));
    CHECK(answer.status >= 400);
    for (const auto& [name, value] : answer.headers) CHECK(value.find("evil") == std::string::npos);
  }
}

TEST_CASE("a repeated parameter is refused") {
  Platform p;
  Form form = {{"grant_type", "client_credentials"}, {"grant_type", "authorization_code"}};
  CHECK(post_form(p.anybody, "/api/oauth/token", form, basic(p.app)).code() == "invalid_request");
  form = {{"token", "a"}, {"token", "b"}};
  CHECK(post_form(p.anybody, "/api/oauth/introspect", form, basic(p.app)).code() ==
        "invalid_request");
  CHECK(post_form(p.anybody, "/api/oauth/revoke", form, basic(p.app)).code() == "invalid_request");
  for (const char* name : {"scope", "state", "code_challenge", "client_id"}) {
    Form twice = authorization(p.app, "profile:read", challenge);
    if (std::string(name) == "state") twice.emplace("state", "a");
    twice.emplace(name, "b");
    const Answer refused = p.authorize(twice);
    INFO(name);
    CHECK(refused.code() == "invalid_request");
    CHECK(!refused.body.contains("state"));
    // The app is told of it if it is certain which app it is (RFC 6749, section 4.1.2.1).
    if (std::string(name) != "client_id")
      CHECK_THAT(refused.body.at("redirect_to").get<std::string>(),
                 Catch::StartsWith(p.app.redirect_uri +
                                   "?error=invalid_request&error_description=" + name +
                                   "%20occurs%20more%20than%20once&iss="));
    else
      check_not_redirected(refused);
  }
  const std::string twice = R"({"grant_type": "client_credentials", "client_id": ")" +
                            p.app.client_id + R"(", "client_secret": ")" + p.app.client_secret +
                            R"(", "client_id": "client_other"})";
  CHECK(p.anybody.ask({.method = "POST", .path = "/api/oauth/token", .body = twice}).code() ==
        "invalid_request");
}

TEST_CASE("a client authenticates in only one way") {
  Platform p;
  Form form = {{"grant_type", "client_credentials"}, {"client_secret", p.app.client_secret}};
  CHECK(post_form(p.anybody, "/api/oauth/token", form, basic(p.app)).code() == "invalid_request");
  form = {{"grant_type", "client_credentials"}, {"client_id", "client_other"}};
  CHECK(post_form(p.anybody, "/api/oauth/token", form, basic(p.app)).code() == "invalid_request");
  Headers two = basic(p.app);
  two.emplace("Authorization", "Bearer " + p.ada.jwt);
  CHECK(post_form(p.anybody, "/api/oauth/token", {{"grant_type", "client_credentials"}}, two)
            .status == 400);
}

TEST_CASE("answers to clients don't reveal which clients exist") {
  Platform p;
  App wrong = p.app;
  wrong.client_secret = "cs_live_wrong";
  App unknown = p.app;
  unknown.client_id = "client_unknown";
  for (const char* path : {"/api/oauth/token", "/api/oauth/introspect", "/api/oauth/revoke"}) {
    const Form form = {{"grant_type", "client_credentials"}, {"token", "x"}};
    const Answer first = post_form(p.anybody, path, form, basic(wrong));
    const Answer second = post_form(p.anybody, path, form, basic(unknown));
    CHECK(first.status == 401);
    CHECK(first.text == second.text);
    CHECK_THAT(first.header("WWW-Authenticate") + second.header("WWW-Authenticate"),
               Contains("Basic"));
  }
}

TEST_CASE("neither codes, tokens nor secrets are in the log") {
  Platform p;
  const Code code = authorize(p.berthd, p.ada, p.app, {"profile:read"});
  const Tokens tokens = tokens_of(expect(200, p.token(code_exchange(p.app, code))));
  p.token(code_exchange(p.app, code));
  inspect(p.berthd, p.app, tokens.refresh_token);
  revoke(p.berthd, p.app, tokens.refresh_token);
  p.anybody.get("/api/deploy/apps?access_token=" + tokens.access_token);
  const std::string log = p.berthd.log_text();
  for (const std::string& secret :
       {code.code, code.verifier, tokens.access_token, tokens.refresh_token, tokens.session_token,
        p.app.client_secret, p.ada.jwt})
    CHECK(log.find(secret) == std::string::npos);
}
