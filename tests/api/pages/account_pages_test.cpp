// The pages of the account: what is offered to whoever changes what logs them in.
#include <catch2/catch.hpp>

#include "api/gate/browser_session.h"
#include "api/pages/pages.h"
#include "controller/domain/accounts/sessions.h"
#include "tests/api/gate_world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using Catch::Contains;

const std::string end_others = "action=\"/account/sessions/end-others\"";

struct Browser {
  GateWorld g;
  accounts::User bob = g.world.verified_user("bob");
  accounts::Session session = g.world.log_in(bob);
  prometheus::Registry registry;
  HttpMetrics metrics{registry};
  pages::Pages site{g.services, metrics};

  Response open(const std::string& method, const std::string& path, const std::string& body = "") {
    Request request = {.method = method,
                       .path = path,
                       .raw_query = {},
                       .query = {},
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

}  // namespace
