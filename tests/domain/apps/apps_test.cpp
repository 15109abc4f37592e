#include "controller/domain/apps/apps.h"

#include <catch2/catch.hpp>

#include "controller/domain/apps/members.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

const apps::NewApp good = {.app_name = "My game",
                           .app_description = "A game",
                           .logo_url = "https://game.example.org/l.png",
                           .website_url = "http://game.example.org",
                           .redirect_uris = {redirect_uri},
                           .allowed_scopes = {Scope::profile_read}};

std::string times(size_t count, const std::string& text) {
  std::string result;
  while (count-- > 0) result += text;
  return result;
}

TEST_CASE("an app is registered, and only its secret's hash is stored") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto created = world.write([&](db::Tx& tx) { return apps::create(tx, ada.id, good); });
  CHECK(created.client_secret.starts_with("cs_live_"));
  CHECK(created.app.owner_id == ada.id);
  CHECK(created.app.app_name == "My game");
  CHECK(created.app.logo_url == good.logo_url);
  CHECK(created.app.redirect_uris == good.redirect_uris);
  world.read([&](db::Tx& tx) {
    CHECK(apps::authenticate(tx, created.app.client_id, created.client_secret).id ==
          created.app.id);
    CHECK(apps::find_by_client_id(tx, created.app.client_id)->id == created.app.id);
    CHECK(tx.number("SELECT count(*) FROM apps WHERE client_secret_hash = $1",
                    created.client_secret) == 0);
    for (const auto& [id, secret] :
         {std::pair<std::string, std::string>{created.app.client_id, "cs_live_wrong"},
          {"client_unknown", created.client_secret},
          {created.app.client_id, ""},
          {"", ""}})
      CHECK(refusal([&] { apps::authenticate(tx, id, secret); }) == "401 invalid_client");
  });
}

TEST_CASE("an app with automatic scopes only is approved at once") {
  World world;
  const auto ada = world.verified_user("ada");
  CHECK(world.new_app(ada, {Scope::profile_read, Scope::points_read}).app.is_approved());
  const auto app = world.new_app(ada, {Scope::profile_read, Scope::deploy_manage}).app;
  CHECK_FALSE(app.is_approved());
  CHECK(app.approved_scopes == ScopeSet::automatic());
}

TEST_CASE("only a verified account registers apps") {
  World world;
  const auto ada = world.new_user("ada");
  CHECK(refusal([&] { world.new_app(ada); }) == "403 email_not_verified");
}

TEST_CASE("an account has at most ten apps") {
  World world;
  const auto ada = world.verified_user("ada"), bob = world.verified_user("bob");
  for (int i = 0; i < apps::max_apps_per_account; ++i) world.new_app(ada);
  CHECK(refusal([&] { world.new_app(ada); }) == "422 app_limit_reached");
  CHECK(refusal([&] { world.new_app(bob); }) == "");
}

TEST_CASE("the fields of an app have rules, and all that are broken are named") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto wrong = [&](auto&& change) {
    apps::NewApp app = good;
    change(app);
    std::vector<std::string> fields;
    for (const auto& [field, reasons] :
         details([&] { world.write([&](db::Tx& tx) { apps::create(tx, ada.id, app); }); }))
      fields.push_back(field);
    return fields;
  };
  using Fields = std::vector<std::string>;
  CHECK(wrong([](auto& app) { app.app_name = ""; }) == Fields{"app_name"});
  CHECK(wrong([](auto& app) { app.app_name = times(81, "x"); }) == Fields{"app_name"});
  CHECK(wrong([](auto& app) { app.app_name = times(80, "🌱"); }).empty());
  CHECK(wrong([](auto& app) { app.app_description = times(1001, "x"); }) ==
        Fields{"app_description"});
  CHECK(wrong([](auto& app) { app.app_description = times(1000, "ß"); }).empty());
  CHECK(wrong([](auto& app) { app.redirect_uris = {}; }) == Fields{"redirect_uris"});
  CHECK(wrong([](auto& app) { app.redirect_uris = Fields(11, redirect_uri); }) ==
        Fields{"redirect_uris"});
  CHECK(wrong([](auto& app) { app.redirect_uris.emplace_back("http://evil.example.org"); }) ==
        Fields{"redirect_uris"});
  CHECK(wrong([](auto& app) { app.logo_url = "javascript:alert(1)"; }) == Fields{"logo_url"});
  CHECK(wrong([](auto& app) { app.website_url = "https://x\"onclick="; }) == Fields{"website_url"});
  CHECK(wrong([](auto& app) { app.website_url = ""; }) == Fields{"website_url"});
  for (const char* bad : {"https://", "https://e.com;x", "https://a b.example", "https://*.e.com",
                          "https://user:pw@e.com", "https://e.com:99999", "https:e.com"}) {
    INFO(bad);
    CHECK(wrong([&](auto& app) { app.website_url = bad; }) == Fields{"website_url"});
    CHECK(wrong([&](auto& app) { app.logo_url = bad; }) == Fields{"logo_url"});
  }
  for (const char* fine : {"https://b\u00fccher.example/\u00fc?x=1#y", "http://192.0.2.1:8080"}) {
    INFO(fine);
    CHECK(wrong([&](auto& app) { app.website_url = fine; }) == Fields{});
  }
  CHECK(wrong([](auto& app) { app.allowed_scopes = {}; }) == Fields{"allowed_scopes"});
  CHECK(wrong([](auto& app) {
          app.app_name = "";
          app.redirect_uris = {};
        }) == Fields{"app_name", "redirect_uris"});
}

TEST_CASE("apps of others are forbidden, and unknown ones not found") {
  World world;
  const auto ada = world.verified_user("ada"), bob = world.verified_user("bob");
  const auto app = world.new_app(ada).app;
  world.read([&](db::Tx& tx) {
    CHECK(apps::membership(tx, ada.id, app.id).app.id == app.id);
    CHECK(refusal([&] { apps::membership(tx, bob.id, app.id); }) == "403 forbidden");
    CHECK(refusal([&] { apps::membership(tx, ada.id, "unknown"); }) == "404 app_not_found");
  });
}

TEST_CASE("a user's own apps are listed in pages, newest first") {
  World world;
  const auto ada = world.verified_user("ada"), bob = world.verified_user("bob");
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    world.clock.advance(std::chrono::seconds(1));
    ids.insert(ids.begin(), world.new_app(ada).app.id);
  }
  world.new_app(bob);
  const auto page = [&](int number, int size) {
    const auto got = world.read([&](db::Tx& tx) {
      return apps::list_owned(tx, ada.id, {.page = number, .page_size = size});
    });
    CHECK(got.total == 3);
    std::vector<std::string> found;
    for (const auto& app : got.items) found.push_back(app.id);
    return found;
  };
  CHECK(page(1, 20) == ids);
  CHECK(page(1, 2) == std::vector<std::string>{ids[0], ids[1]});
  CHECK(page(2, 2) == std::vector<std::string>{ids[2]});
  CHECK(page(3, 2).empty());
}

struct WithApp {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.new_app(ada).app;

  apps::ScopeRequest ask(const ScopeSet& scopes) {
    return world.write(
        [&](db::Tx& tx) { return apps::request_scopes(tx, *apps::find(tx, app.id), scopes); });
  }
  template <typename Work>
  std::string decide(Work&& work) {
    return refusal([&] { world.write(work); });
  }
};

TEST_CASE("an approved request grants the scopes and is in the audit log") {
  WithApp f;
  const auto request = f.ask({Scope::deploy_manage});
  CHECK(request.status == apps::RequestStatus::pending);
  CHECK(f.world.find_app(f.app.id).approved_scopes == ScopeSet::automatic());
  const auto approved =
      f.world.write([&](db::Tx& tx) { return apps::approve(tx, request.id, "root"); });
  CHECK(approved.status == apps::RequestStatus::approved);
  CHECK(approved.decided_at == f.world.clock.now());
  const auto app = f.world.find_app(f.app.id);
  CHECK(app.approved_scopes.has(Scope::deploy_manage));
  CHECK(app.allowed_scopes.has(Scope::deploy_manage));
  CHECK(app.is_approved());
  f.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM audit_log WHERE actor = 'root' AND action = "
                    "'scope_request.approve' "
                    "AND target = $1",
                    request.id) == 1);
  });
}

TEST_CASE("a request is decided once") {
  for (const char* how : {"approve", "reject", "withdraw"}) {
    WithApp f;
    const auto request = f.ask({Scope::deploy_manage});
    const auto run = [&](const std::string& what) {
      return f.decide([&](db::Tx& tx) {
        if (what == "approve") apps::approve(tx, request.id, "root");
        if (what == "reject") apps::reject(tx, request.id, "no", "root");
        if (what == "withdraw") apps::withdraw(tx, f.app, request.id);
      });
    };
    CHECK(run(how) == "");
    for (const char* again : {"approve", "reject", "withdraw"}) {
      INFO(how << ", then " << again);
      CHECK(run(again) == "409 invalid_state");
    }
  }
}

TEST_CASE("a rejected or withdrawn request grants nothing, and another one may be made") {
  WithApp f;
  const auto first = f.ask({Scope::deploy_manage});
  const auto rejected =
      f.world.write([&](db::Tx& tx) { return apps::reject(tx, first.id, "say more", "root"); });
  CHECK(rejected.status == apps::RequestStatus::rejected);
  CHECK(rejected.reason == "say more");
  const auto second = f.ask({Scope::points_spend});
  CHECK(f.world.write([&](db::Tx& tx) { return apps::withdraw(tx, f.app, second.id).status; }) ==
        apps::RequestStatus::withdrawn);
  CHECK(f.ask({Scope::points_spend}).status == apps::RequestStatus::pending);
  CHECK(f.world.find_app(f.app.id).approved_scopes == ScopeSet::automatic());
}

TEST_CASE("an app that registers for scopes that need approval asks for them at once") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto created =
      world.new_app(ada, {Scope::profile_read, Scope::deploy_manage, Scope::app_balance_read});
  REQUIRE(created.scope_request);
  CHECK(created.scope_request->status == apps::RequestStatus::pending);
  CHECK(created.scope_request->requested ==
        ScopeSet{Scope::deploy_manage, Scope::app_balance_read});
  CHECK_FALSE(created.app.is_approved());
  CHECK_FALSE(world.new_app(ada, {Scope::profile_read, Scope::points_read}).scope_request);
  // Whoever asks for the same again gets that request, whether or not the automatic scopes are
  // among them.
  const auto ask = [&](const ScopeSet& scopes) {
    return world.write([&](db::Tx& tx) {
      return apps::request_scopes(tx, *apps::find(tx, created.app.id), scopes);
    });
  };
  const ScopeSet same = {Scope::deploy_manage, Scope::app_balance_read};
  CHECK(ask(same).id == created.scope_request->id);
  const auto with_automatic = ask(same | ScopeSet::automatic());
  CHECK(with_automatic.id == created.scope_request->id);
  CHECK(with_automatic.requested == (same | ScopeSet::automatic()));
  world.write([&](db::Tx& tx) { apps::approve(tx, created.scope_request->id, "root"); });
  CHECK(world.find_app(created.app.id).is_approved());
}

TEST_CASE("a request for other scopes adds them to those that are asked for already") {
  WithApp f;
  const auto pending = [&] {
    return f.world.read([&](db::Tx& tx) {
      return apps::list_requests(tx, f.app.id, apps::RequestStatus::pending, {});
    });
  };
  const auto first = f.ask({Scope::deploy_manage});
  const auto second = f.ask({Scope::points_spend});
  CHECK(second.id != first.id);
  CHECK(second.replaces == first.id);
  CHECK(second.requested == ScopeSet{Scope::deploy_manage, Scope::points_spend});
  CHECK(f.ask({Scope::deploy_manage}).id == second.id);
  REQUIRE(pending().total == 1);
  CHECK(pending().items[0].id == second.id);
  // An admin who looks at the first can't approve what they haven't seen.
  CHECK(f.decide([&](db::Tx& tx) { apps::approve(tx, first.id, "root"); }) == "409 invalid_state");
  // What needs no approval leaves it alone.
  CHECK(f.ask({Scope::points_read}).status == apps::RequestStatus::approved);
  CHECK(pending().items[0].id == second.id);
}

TEST_CASE("scopes that were revoked while a request is pending aren't approved with it") {
  WithApp f;
  const auto app = f.world.approved_app(f.ada, {Scope::deploy_manage});
  const auto ask = [&](const ScopeSet& scopes) {
    return f.world.write(
        [&](db::Tx& tx) { return apps::request_scopes(tx, *apps::find(tx, app.id), scopes); });
  };
  const auto seen = ask({Scope::points_spend});
  CHECK(ask({Scope::points_spend, Scope::deploy_manage}).id != seen.id);
  CHECK(f.decide([&](db::Tx& tx) { apps::approve(tx, seen.id, "root"); }) == "409 invalid_state");
}

TEST_CASE("a request for scopes that the app has already is approved at once") {
  WithApp f;
  CHECK(f.ask({Scope::points_read}).status == apps::RequestStatus::approved);
  CHECK(f.ask({Scope::points_read, Scope::points_spend}).status == apps::RequestStatus::pending);
}

TEST_CASE("requests of other apps and unknown ones aren't found") {
  WithApp f;
  const auto request = f.ask({Scope::deploy_manage});
  const auto other = f.world.new_app(f.ada).app;
  CHECK(f.decide([&](db::Tx& tx) { apps::withdraw(tx, other, request.id); }) ==
        "404 scope_request_not_found");
  CHECK(f.decide([&](db::Tx& tx) { apps::approve(tx, "unknown", "root"); }) ==
        "404 scope_request_not_found");
  CHECK(f.decide([&](db::Tx& tx) { apps::reject(tx, "unknown", "no", "root"); }) ==
        "404 scope_request_not_found");
}

TEST_CASE("requests are listed by app and by status") {
  WithApp f;
  const auto other = f.world.new_app(f.ada).app;
  f.ask({Scope::points_read});
  f.ask({Scope::deploy_manage});
  f.world.write([&](db::Tx& tx) { apps::request_scopes(tx, other, {Scope::points_spend}); });
  const auto count = [&](const std::optional<std::string>& app,
                         std::optional<apps::RequestStatus> status) {
    const auto page =
        f.world.read([&](db::Tx& tx) { return apps::list_requests(tx, app, status, {}); });
    CHECK(page.total == std::int64_t(page.items.size()));
    return page.total;
  };
  CHECK(count({}, {}) == 3);
  CHECK(count(f.app.id, {}) == 2);
  CHECK(count({}, apps::RequestStatus::pending) == 2);
  CHECK(count(f.app.id, apps::RequestStatus::pending) == 1);
  CHECK(count(f.app.id, apps::RequestStatus::rejected) == 0);
}

TEST_CASE("revoked scopes are lost, except for the automatic ones") {
  WithApp f;
  const auto app = f.world.approved_app(f.ada, {Scope::deploy_manage, Scope::points_spend});
  const auto after = f.world.write([&](db::Tx& tx) {
    return apps::revoke_scopes(tx, app.id, {Scope::deploy_manage, Scope::profile_read}, "root");
  });
  CHECK(after.approved_scopes == (ScopeSet::automatic() | ScopeSet{Scope::points_spend}));
  CHECK_FALSE(after.is_approved());
  CHECK(f.decide([](db::Tx& tx) {
    apps::revoke_scopes(tx, "unknown", {Scope::points_spend}, "root");
  }) == "404 app_not_found");
}

TEST_CASE("an app is promoted to a tier that is there") {
  WithApp f;
  CHECK(f.world.write([&](db::Tx& tx) {
    return apps::promote(tx, f.app.id, "basic", "root").promoted_tier;
  }) == "basic");
  CHECK(f.decide([&](db::Tx& tx) { apps::promote(tx, f.app.id, "gold", "root"); }) ==
        "404 tier_not_found");
  CHECK(f.decide([](db::Tx& tx) { apps::promote(tx, "unknown", "basic", "root"); }) ==
        "404 app_not_found");
}

}  // namespace
