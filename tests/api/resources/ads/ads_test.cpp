// Campaigns and ads over the API. The ledger is audited after each step.
#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "tests/api/gate_world.h"
#include "tests/domain/ads/pictures.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

struct Fixture {
  GateWorld g;
  accounts::User advertiser = g.world.verified_user("advertiser");
  accounts::User publisher = g.world.verified_user("publisher");
  accounts::User viewer = g.world.verified_user("viewer");
  apps::App brand = g.world.approved_app(
      advertiser, {Scope::profile_read, Scope::campaigns_manage, Scope::campaign_write});
  apps::App game = g.world.approved_app(
      publisher, {Scope::profile_read, Scope::campaigns_manage, Scope::campaign_write});
  Header manage = token(brand, advertiser, "campaigns:manage");
  Header write = token(brand, advertiser, "campaign:write");
  Header other = token(game, publisher, "campaigns:manage");
  Header show = token(game, viewer, "profile:read");

  Fixture() {
    g.world.mint(ledger::treasury(), 1'000'000);
    g.world.mint(ledger::app_account(brand.id), 10'000'000);
  }

  Header token(const apps::App& app, const accounts::User& user, const std::string& scope) {
    return bearer(g.world.tokens(app, user, scope).access_token);
  }
  // Sends the request, and audits the ledger afterwards.
  Answered ask(const Header& who, const std::string& method, const std::string& path,
               const json& body = nullptr) {
    auto answered = g.ask(method, path, {who}, body.is_null() ? "" : body.dump());
    for (const auto& check : g.world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(method << " " << path << ": " << check.name << ": " << check.detail);
      CHECK(check.ok);
    }
    return answered;
  }
  Answered internal(const std::string& method, const std::string& path,
                    const json& body = nullptr) {
    return g.ask(method, "/api/internal/ads" + path, g.admin, body.is_null() ? "" : body.dump());
  }
  static json order(std::int64_t payment = 1'000, std::int64_t payout = 10) {
    return {{"name", "Spring"},
            {"surface_type", "banner"},
            {"total_payment", payment},
            {"payout_rate", payout}};
  }
  json create(const json& order) {
    const auto created = ask(manage, "POST", "/api/external/campaigns", order);
    REQUIRE(created.status == 201);
    return created.body["campaign"];
  }
  std::string path(const json& campaign) const {
    return "/api/external/campaigns/" + campaign["id"].get<std::string>();
  }
  Answered serve(const std::string& more = "") {
    return ask(show, "GET", "/api/external/ads/serve?surface_type=banner" + more);
  }
  Answered report(const json& campaign, const std::string& type = "impression",
                  const json& token = nullptr) {
    json body = {{"campaign_id", campaign["id"]}, {"event_type", type}};
    if (!token.is_null()) body["impression_token"] = token;
    return ask(show, "POST", "/api/external/ads/event", body);
  }
  json placement(const json& more = json::object()) {
    json body = {{"name", "Lobby"}, {"surface_type", "banner"}};
    body.update(more);
    const auto made = internal("POST", "/placements", body);
    REQUIRE(made.status == 201);
    return made.body["placement"];
  }
};

TEST_CASE("ads api: the whole life of a campaign") {
  Fixture f;
  const json campaign = f.create(Fixture::order(1'005));
  CHECK(campaign["budget"] == 904);
  CHECK(campaign["rake_amount"] == 101);
  CHECK(campaign["total_payment_made"] == 1'005);
  CHECK(campaign["spent"] == 0);
  CHECK(campaign["status"] == "active");
  CHECK(campaign["starts_at"] == nullptr);

  const auto served = f.serve();
  REQUIRE(served.status == 200);
  CHECK(served.body["campaign"]["id"] == campaign["id"]);
  CHECK(served.body["campaign"]["payout_rate"] == 10);
  const auto paid = f.report(campaign, "impression", served.body["impression_token"]);
  REQUIRE(paid.status == 201);
  CHECK(paid.body["paid"] == true);
  CHECK(paid.body["unpaid_reason"] == nullptr);
  CHECK(paid.body["event"]["payout_rate_snapshot"] == 10);
  CHECK(paid.body["event"]["surface_type"] == "banner");
  CHECK(f.report(campaign, "click").body["unpaid_reason"] == nullptr);
  CHECK(f.report(campaign, "impression", served.body["impression_token"]).body["unpaid_reason"] ==
        "replayed");

  const std::string path = f.path(campaign);
  CHECK(f.ask(f.write, "PUT", path, {{"status", "paused"}}).body["campaign"]["status"] == "paused");
  CHECK(f.serve().error() == "404 no_ad_available");
  CHECK(f.ask(f.manage, "PUT", path, {{"status", "active"}}).status == 200);
  const auto raised = f.ask(f.manage, "PUT", path, {{"additional_payment", 11}});
  CHECK(raised.body["campaign"]["budget"] == 914);
  CHECK(f.serve().status == 200);
  CHECK(f.ask(f.manage, "GET", path).body["campaign"]["reserved"] == 10);
  const auto cancelled = f.ask(f.manage, "DELETE", path);
  CHECK(cancelled.status == 200);
  CHECK(cancelled.body["refunded"] == 904);
  CHECK(cancelled.body["campaign"]["status"] == "cancelled");
  CHECK(f.ask(f.manage, "DELETE", path).error() == "409 invalid_state");
  CHECK(f.ask(f.manage, "PUT", path, {{"status", "active"}}).error() == "409 invalid_state");
  CHECK(f.ask(f.manage, "GET", "/api/external/campaigns").body["total"] == 1);
}

TEST_CASE("ads api: creatives are added, shown, counted and removed") {
  Fixture f;
  const json campaign = f.create(Fixture::order());
  const std::string path = f.path(campaign) + "/creatives";
  CHECK(campaign["creatives"] == 0);
  CHECK(f.serve().body["campaign"]["creative"] == nullptr);
  const std::string image = base64(berth::test::png({.width = 30, .height = 20}));
  const auto added = f.ask(f.write, "POST", path,
                           {{"title", "Play chess"},
                            {"text", "Against everybody."},
                            {"link", "https://chess.example.org/"},
                            {"image", image}});
  REQUIRE(added.status == 201);
  const json creative = added.body["creative"];
  const std::string id = creative["id"];
  CHECK(creative["image_url"] == f.g.services.base_url + "/ads/pictures/" + id);
  CHECK(creative["image_width"] == 30);
  CHECK(creative["image_height"] == 20);
  CHECK(creative["link"] == "https://chess.example.org/");

  const auto served = f.serve();
  const json shown = served.body["campaign"]["creative"];
  CHECK(shown["id"] == id);
  CHECK(shown["title"] == "Play chess");
  CHECK(shown["text"] == "Against everybody.");
  CHECK(shown["image_url"] == creative["image_url"]);
  CHECK(shown["click_url"].get<std::string>().starts_with(f.g.services.base_url +
                                                          "/ads/click?token=clk_"));
  CHECK_FALSE(shown.contains("link"));
  f.report(campaign, "impression", served.body["impression_token"]);
  f.report(campaign, "click", served.body["impression_token"]);
  const auto list = f.ask(f.manage, "GET", path);
  CHECK(list.body["total"] == 1);
  CHECK(list.body["creatives"][0]["impressions"] == 1);
  CHECK(list.body["creatives"][0]["clicks"] == 1);
  CHECK(f.ask(f.manage, "GET", f.path(campaign)).body["campaign"]["creatives"] == 1);

  const auto picture = f.g.ask("GET", "/ads/pictures/" + id);
  CHECK(picture.status == 200);
  CHECK(picture.text.starts_with("\x89PNG"));
  CHECK(picture.header("Cache-Control") == "public, max-age=31536000, immutable");
  CHECK(picture.header("Content-Security-Policy") == "default-src 'none'; sandbox");
  CHECK(picture.header("Cross-Origin-Resource-Policy") == "cross-origin");

  CHECK(f.ask(f.other, "GET", path).error() == "403 forbidden");
  CHECK(f.ask(f.other, "DELETE", path + "/" + id).error() == "403 forbidden");
  CHECK(f.ask(f.show, "POST", path, {{"title", "x"}, {"link", "https://x.example.org"}}).error() ==
        "403 insufficient_scope");
  CHECK(f.ask(f.manage, "DELETE", path + "/" + id).status == 200);
  CHECK(f.ask(f.manage, "DELETE", path + "/" + id).error() == "404 creative_not_found");
  CHECK(f.serve().body["campaign"]["creative"] == nullptr);
  CHECK(f.g.ask("GET", "/ads/pictures/" + id).status == 200);  // for pages that show it already
  CHECK(f.internal("DELETE", "/creatives/" + id).status == 200);
  CHECK(f.g.ask("GET", "/ads/pictures/" + id).error() == "404 creative_not_found");
}

TEST_CASE("ads api: a creative that isn't right is refused, with the field's name") {
  Fixture f;
  const json campaign = f.create(Fixture::order());
  const std::string path = f.path(campaign) + "/creatives";
  const json good = {{"title", "Play chess"}, {"link", "https://chess.example.org/"}};
  const std::vector<std::pair<std::string, json>> bad = {
      {"title", nullptr},
      {"title", ""},
      {"title", std::string(81, 'x')},
      {"title", "a\nb"},
      {"text", std::string(301, 'x')},
      {"link", nullptr},
      {"link", "http://chess.example.org/"},
      {"link", "javascript:alert(1)"},
      {"image", "not base64!"},
      {"image", base64("<svg xmlns='http://www.w3.org/2000/svg'/>")},
      {"image", base64(berth::test::png_that_claims(30'000, 30'000))},
      {"image", base64(berth::test::png().substr(0, 40))},
      {"image", std::string(666'672, 'A')}};
  for (const auto& [field, value] : bad) {
    json body = good;
    body[field] = value;
    const auto answered = f.ask(f.manage, "POST", path, body);
    INFO(field << ": " << value.dump().substr(0, 40));
    CHECK(answered.error() == "422 validation_failed");
    CHECK(answered.body["error"]["details"].contains(field));
  }
  CHECK(f.ask(f.manage, "POST", path, good).status == 201);
  CHECK(f.ask(f.manage, "GET", path).body["total"] == 1);
}

TEST_CASE("ads api: who may do what") {
  Fixture f;
  const json campaign = f.create(Fixture::order());
  const std::string path = f.path(campaign);
  CHECK(f.ask(f.write, "GET", path).status == 200);
  CHECK(f.ask(f.other, "GET", path).error() == "403 forbidden");
  CHECK(f.ask(f.other, "PUT", path, {{"status", "paused"}}).error() == "403 forbidden");
  CHECK(f.ask(f.other, "DELETE", path).error() == "403 forbidden");
  CHECK(f.ask(f.show, "GET", path).error() == "403 insufficient_scope");
  CHECK(f.ask(f.manage, "GET", "/api/external/campaigns/" + f.brand.id).error() ==
        "404 campaign_not_found");
  CHECK(f.ask(f.manage, "GET", "/api/external/campaigns/x").error() == "404 campaign_not_found");
  CHECK(f.ask(f.write, "GET", "/api/v1/ads/rates").error() == "403 insufficient_scope");
  CHECK(f.ask(f.manage, "GET", "/api/v1/ads/rates").status == 200);
  CHECK(f.ask(f.manage, "GET", "/api/external/ads/serve?surface_type=banner").error() ==
        "403 insufficient_scope");
}

TEST_CASE("ads api: what is refused") {
  Fixture f;
  const auto refused = [&](const json& change) {
    json body = Fixture::order();
    body.update(change);
    return f.ask(f.manage, "POST", "/api/external/campaigns", body).error();
  };
  CHECK(refused({{"total_payment", 0}}) == "422 validation_failed");
  CHECK(refused({{"total_payment", 1}}) == "422 validation_failed");
  CHECK(refused({{"total_payment", 11}}) == "422 validation_failed");
  CHECK(refused({{"total_payment", 9007199254740992}}) == "422 validation_failed");
  CHECK(refused({{"total_payment", 9007199254740991}}) == "422 insufficient_balance");
  CHECK(refused({{"total_payment", 10.5}}) == "422 validation_failed");
  CHECK(refused({{"payout_rate", 0}}) == "422 validation_failed");
  CHECK(refused({{"surface_type", "popup"}}) == "422 validation_failed");
  CHECK(refused({{"ends_at", "2020-01-01T00:00:00Z"}}) == "422 validation_failed");
  CHECK(refused({{"ends_at", "tomorrow"}}) == "422 validation_failed");
  CHECK(refused({{"targeting_metadata", {{"game_type", 1}}}}) == "422 validation_failed");
  const json campaign = f.create(Fixture::order());
  const auto change = [&](const json& body) {
    return f.ask(f.manage, "PUT", f.path(campaign), body).error();
  };
  CHECK(change(json::object()) == "422 validation_failed");
  CHECK(change({{"status", "paused"}, {"additional_payment", 1}}) == "422 validation_failed");
  CHECK(change({{"status", "exhausted"}}) == "422 validation_failed");
  CHECK(change({{"additional_payment", 100'000'000}}) == "422 insufficient_balance");
  const auto serve = [&](const std::string& query) {
    return f.ask(f.show, "GET", "/api/external/ads/serve" + query).error();
  };
  CHECK(serve("") == "422 validation_failed");
  CHECK(serve("?surface_type=popup") == "422 validation_failed");
  CHECK(serve("?surface_type=banner&placement_id=x") == "422 validation_failed");
  CHECK(serve("?surface_type=banner&placement_id=" + f.brand.id) == "404 placement_not_found");
  CHECK(serve("?surface_type=video") == "404 no_ad_available");
  CHECK(f.report(json{{"id", f.brand.id}}).error() == "404 campaign_not_found");
  CHECK(f.report(json{{"id", "x"}}).error() == "422 validation_failed");
}

TEST_CASE("ads api: each surface type gets ads of its own") {
  Fixture f;
  const std::string surface = GENERATE("banner", "video", "interstitial", "native", "rewarded");
  json order = Fixture::order();
  order["surface_type"] = surface;
  const json campaign = f.create(order);
  const auto served = f.ask(f.show, "GET", "/api/external/ads/serve?surface_type=" + surface);
  CHECK(served.body["campaign"]["id"] == campaign["id"]);
  if (surface != "banner") CHECK(f.serve().error() == "404 no_ad_available");
}

TEST_CASE("ads api: repeating a report with an Idempotency-Key counts once") {
  Fixture f;
  const json campaign = f.create(Fixture::order());
  f.serve();
  f.serve();
  const std::string body =
      json{{"campaign_id", campaign["id"]}, {"event_type", "impression"}}.dump();
  const std::vector<Header> headers = {f.show, {"Idempotency-Key", "one"}};
  const auto first = f.g.ask("POST", "/api/external/ads/event", headers, body);
  const auto again = f.g.ask("POST", "/api/external/ads/event", headers, body);
  CHECK(first.body["paid"] == true);
  CHECK(first.text == again.text);
  CHECK(f.ask(f.manage, "GET", f.path(campaign)).body["campaign"]["spent"] == 10);
}

TEST_CASE("ads api: repeating a top-up with an Idempotency-Key charges once") {
  Fixture f;
  const json campaign = f.create(Fixture::order());
  const std::vector<Header> headers = {f.manage, {"Idempotency-Key", "one"}};
  const auto top_up = [&](int points) {
    return f.g.ask("PUT", f.path(campaign), headers, json{{"additional_payment", points}}.dump());
  };
  const auto first = top_up(100);
  CHECK(first.body["campaign"]["budget"] == 990);
  CHECK(top_up(100).text == first.text);
  CHECK(top_up(200).error() == "409 idempotency_conflict");
  CHECK(f.ask(f.manage, "GET", f.path(campaign)).body["campaign"]["total_payment_made"] == 1'100);
}

TEST_CASE("ads api: refusals say what is wrong") {
  Fixture f;
  const auto said = [](const Answered& answered) {
    return answered.body["error"]["message"].get<std::string>();
  };
  json order = Fixture::order();
  order["ends_at"] = "2020-01-01T00:00:00Z";
  CHECK(said(f.ask(f.manage, "POST", "/api/external/campaigns", order)) ==
        "ends_at must be in the future");
  order["ends_at"] = to_iso8601(f.g.world.clock.now() + 1min);
  const json campaign = f.create(order);
  f.g.world.clock.advance(1min);
  // The loop hasn't ended the campaign yet.
  CHECK(said(f.ask(f.manage, "PUT", f.path(campaign), {{"status", "paused"}})) ==
        "the campaign has ended");
  CHECK(f.ask(f.manage, "DELETE", f.path(campaign)).body["campaign"]["end_reason"] == "ended");
  CHECK(said(f.ask(f.manage, "DELETE", f.path(campaign))) == "the campaign is cancelled");
}

TEST_CASE("ads api: a campaign's name must be a visible line") {
  Fixture f;
  const auto named = [&](const std::string& name) {
    json order = Fixture::order();
    order["name"] = name;
    return f.ask(f.manage, "POST", "/api/external/campaigns", order).status;
  };
  CHECK(named("Frühling \u2600") == 201);
  CHECK(named("  ") == 422);
  CHECK(named(std::string("a\0b", 3)) == 422);
  CHECK(named("\x1b[2Jgone") == 422);
  CHECK(named("two\nlines") == 422);
}

TEST_CASE("ads api: placements of a campaign, their budget and their segments") {
  Fixture f;
  const json lobby = f.placement();
  const json campaign = f.create(Fixture::order());
  const std::string placements =
      "/api/v1/ads/campaigns/" + campaign["id"].get<std::string>() + "/placements";
  const auto place = [&](const json& body) { return f.ask(f.manage, "POST", placements, body); };
  CHECK(place({{"ad_placement_id", f.brand.id}, {"allocated_budget", 100}}).error() ==
        "404 placement_not_found");
  CHECK(place({{"ad_placement_id", lobby["id"]}, {"allocated_budget", 901}}).error() ==
        "422 validation_failed");
  CHECK(place({{"ad_placement_id", lobby["id"]}, {"allocated_budget", 9}}).error() ==
        "422 validation_failed");
  const auto placed = place({{"ad_placement_id", lobby["id"]}, {"allocated_budget", 25}});
  REQUIRE(placed.status == 201);
  CHECK(placed.body["campaign_placement"]["impressions_target"] == 2);
  CHECK(placed.body["campaign_placement"]["status"] == "active");
  CHECK(place({{"ad_placement_id", lobby["id"]}, {"allocated_budget", 25}}).error() ==
        "409 invalid_state");

  const std::string one = placements + "/" + placed.body["placement"]["id"].get<std::string>();
  CHECK(f.ask(f.manage, "POST", one + "/segments",
              {{"segment_type", "geography"}, {"segment_value", "DE"}, {"match_mode", "prefix"}})
            .status == 201);
  const std::string here = "&placement_id=" + lobby["id"].get<std::string>();
  CHECK(f.serve(here).error() == "404 no_ad_available");
  CHECK(f.serve(here + "&geography=AT").error() == "404 no_ad_available");
  CHECK(f.serve("&geography=DE&placement_id=" + f.placement()["id"].get<std::string>()).error() ==
        "404 no_ad_available");
  CHECK(f.serve(here + "&geography=DE-BE").status == 200);
  CHECK(f.serve("&geography=DE").status == 200);
  // Two reservations are open.
  CHECK(f.serve(here + "&geography=DE").error() == "404 no_ad_available");
  CHECK(f.report(campaign).body["paid"] == true);
  CHECK(f.report(campaign).body["paid"] == true);
  auto list = f.ask(f.manage, "GET", placements).body;
  CHECK(list["placements"][0]["impressions_delivered"] == 2);
  CHECK(list["placements"][0]["status"] == "depleted");
  CHECK(list["placements"][0]["segments"].size() == 1);
  CHECK(f.serve(here + "&geography=DE").error() == "404 no_ad_available");
  const auto raised = f.ask(f.manage, "PATCH", one, {{"allocated_budget", 30}});
  CHECK(raised.body["placement"]["status"] == "active");
  CHECK(f.serve(here + "&geography=DE").status == 200);
  CHECK(f.ask(f.manage, "PATCH", one, {{"status", "paused"}}).body["placement"]["status"] ==
        "paused");
  CHECK(f.ask(f.other, "PATCH", one, {{"status", "active"}}).error() == "403 forbidden");
  CHECK(f.ask(f.manage, "DELETE", one).status == 200);
  CHECK(f.ask(f.manage, "DELETE", one).error() == "404 placement_not_found");
  CHECK(f.serve().status == 200);  // it has no placements, so it is shown everywhere
}

TEST_CASE("ads api: segments beyond the limit are refused, not ignored") {
  Fixture f;
  json order = Fixture::order();
  order["targeting_metadata"] = {{"geography", {"DE", "AT"}}};
  const json campaign = f.create(order);
  const std::string placements =
      "/api/v1/ads/campaigns/" + campaign["id"].get<std::string>() + "/placements";
  const auto placed = f.ask(f.manage, "POST", placements,
                            {{"ad_placement_id", f.placement()["id"]}, {"allocated_budget", 900}});
  const std::string segments =
      placements + "/" + placed.body["placement"]["id"].get<std::string>() + "/segments";
  const auto add = [&](const char* type, const std::string& value) {
    return f.ask(f.manage, "POST", segments, {{"segment_type", type}, {"segment_value", value}});
  };
  for (int i = 0; i < 8; ++i) CHECK(add("game_type", "g" + std::to_string(i)).status == 201);
  for (int i = 0; i < 4; ++i) CHECK(add("play_tier", "p" + std::to_string(i)).status == 201);
  // There are 2 × 8 × 4 = 64 combinations, and each of them is served.
  CHECK(add("play_tier", "p4").error() == "422 validation_failed");
  CHECK(f.serve("&game_type=g7&play_tier=p3&geography=AT").status == 200);
  // Adding the same segment again makes no new combination.
  CHECK(add("play_tier", "p3").status == 201);
}

TEST_CASE("ads api: a campaign in one app's placement isn't shown in another app") {
  Fixture f;
  const auto other_game = f.g.world.approved_app(f.publisher, {Scope::profile_read});
  const json own = f.placement({{"app_id", f.game.id}});
  const json campaign = f.create(Fixture::order());
  const std::string placements =
      "/api/v1/ads/campaigns/" + campaign["id"].get<std::string>() + "/placements";
  REQUIRE(f.ask(f.manage, "POST", placements,
                {{"ad_placement_id", own["id"]}, {"allocated_budget", 900}})
              .status == 201);
  const Header elsewhere = f.token(other_game, f.viewer, "profile:read");
  CHECK(f.ask(elsewhere, "GET", "/api/external/ads/serve?surface_type=banner").error() ==
        "404 no_ad_available");
  CHECK(f.serve().body["campaign"]["id"] == campaign["id"]);
  CHECK(f.serve("&placement_id=" + own["id"].get<std::string>()).status == 200);
}

TEST_CASE("ads api: named audiences") {
  Fixture f;
  CHECK(f.ask(f.manage, "POST", "/api/v1/ads/segments", {{"name", "Nobody"}}).error() ==
        "422 validation_failed");
  const auto own = f.ask(f.manage, "POST", "/api/v1/ads/segments",
                         {{"name", "Puzzlers"}, {"game_type", "puzzle"}, {"geography", "DE"}});
  REQUIRE(own.status == 201);
  CHECK(f.internal("POST", "/segments", {{"name", "Gold"}, {"play_tier", "gold"}}).status == 201);
  CHECK(f.ask(f.manage, "GET", "/api/v1/ads/segments").body["total"] == 2);
  CHECK(f.ask(f.other, "GET", "/api/v1/ads/segments").body["total"] == 1);
  const json campaign = f.create(Fixture::order());
  const std::string placements =
      "/api/v1/ads/campaigns/" + campaign["id"].get<std::string>() + "/placements";
  const auto placed = f.ask(f.manage, "POST", placements,
                            {{"ad_placement_id", f.placement()["id"]}, {"allocated_budget", 900}});
  const std::string one = placements + "/" + placed.body["placement"]["id"].get<std::string>();
  const auto added = f.ask(f.manage, "POST", one + "/segments",
                           {{"audience_segment_id", own.body["segment"]["id"]}});
  CHECK(added.body["segments"].size() == 2);
  CHECK(f.serve("&game_type=puzzle").error() == "404 no_ad_available");
  CHECK(f.serve("&game_type=puzzle&geography=DE").status == 200);
}

TEST_CASE(
    "ads api: a placement's pricing is valid for a time and excludes campaigns that pay less") {
  Fixture f;
  const json lobby = f.placement();
  const json pricing = {{"ad_placement_id", lobby["id"]},
                        {"base_rate", 20},
                        {"min_rate", 11},
                        {"max_rate", 50},
                        {"effective_until", "2026-02-01T00:00:00Z"}};
  const auto made = f.internal("POST", "/pricing", pricing);
  REQUIRE(made.status == 201);
  CHECK(made.body["pricing"]["effective_rate"] == 20);
  json meets = pricing;
  meets["effective_from"] = "2026-01-31T23:00:00Z";
  meets.erase("effective_until");
  CHECK(f.internal("POST", "/pricing", meets).error() == "422 validation_failed");
  meets["effective_from"] = "2026-02-01T00:00:00Z";
  CHECK(f.internal("POST", "/pricing", meets).status == 201);
  CHECK(f.ask(f.manage, "GET", "/api/v1/ads/pricing").body["total"] == 1);
  CHECK(f.internal("GET", "/pricing").body["total"] == 2);
  const std::string path = "/api/v1/ads/pricing/" + lobby["id"].get<std::string>();
  CHECK(f.ask(f.manage, "GET", path).body["pricing"]["id"] == made.body["pricing"]["id"]);
  CHECK(f.ask(f.manage, "GET", "/api/v1/ads/pricing/x").error() == "404 pricing_not_found");

  f.create(Fixture::order(1'000, 10));
  const std::string here = "&placement_id=" + lobby["id"].get<std::string>();
  CHECK(f.serve(here).error() == "404 no_ad_available");
  const json dear = f.create(Fixture::order(1'000, 11));
  CHECK(f.serve(here).body["campaign"]["id"] == dear["id"]);
  json closed = {{"is_active", false}};
  CHECK(f.internal("PATCH", "/placements/" + lobby["id"].get<std::string>(), closed).status == 200);
  CHECK(f.serve(here).error() == "404 placement_not_found");
  CHECK(f.ask(f.manage, "GET", "/api/v1/ads/placements").body["total"] == 0);
}

TEST_CASE("ads api: rates") {
  Fixture f;
  const auto rates = f.ask(f.manage, "GET", "/api/v1/ads/rates").body["rates"];
  REQUIRE(rates.size() == 5);
  for (const json& rate : rates) {
    CHECK(rate["ceiling_price"] == rate["base_rate"].get<int>() * 10);
    CHECK(rate["effective_rate"] == rate["base_rate"]);
  }
  CHECK(f.ask(f.manage, "GET", "/api/v1/ads/rates?surface_type=video").body["rates"].size() == 1);
}

TEST_CASE("ads api: a purchase is one transaction of several campaigns") {
  Fixture f;
  const auto made = f.internal("POST", "/packages",
                               {{"name", "Starter"},
                                {"discount_percentage", 15},
                                {"min_surfaces", 2},
                                {"min_impressions", 100}});
  REQUIRE(made.status == 201);
  const json package = made.body["package"];
  const auto buy = [&](const json& surfaces) {
    return f.ask(f.manage, "POST", "/api/v1/ads/purchases",
                 {{"ad_package_id", package["id"]}, {"name", "Spring"}, {"surfaces", surfaces}});
  };
  const auto surface = [](const char* type, std::int64_t impressions) {
    return json{{"surface_type", type}, {"impressions", impressions}};
  };
  const json banner = surface("banner", 99), video = surface("video", 33);
  CHECK(buy(json::array({banner})).error() == "422 validation_failed");
  CHECK(buy(json::array({banner, banner})).error() == "422 validation_failed");
  CHECK(buy(json::array({surface("banner", 1), video})).error() == "422 validation_failed");
  CHECK(buy(json::array({surface("banner", 1'000'000'000), video})).error() ==
        "422 insufficient_balance");
  CHECK(f.ask(f.manage, "GET", "/api/external/campaigns").body["total"] == 0);
  const std::int64_t before = f.g.world.balance(ledger::app_account(f.brand.id));
  const auto bought = buy(json::array({banner, video}));
  REQUIRE(bought.status == 201);
  const json purchase = bought.body["purchase"];
  CHECK(purchase["subtotal"] == 990 + 825);
  CHECK(purchase["discount_amount"] == 148 + 123);  // each is rounded down
  CHECK(purchase["total_charged"] == 842 + 702);
  CHECK(purchase["rake_amount"] == 85 + 71);
  CHECK(purchase["status"] == "completed");
  CHECK(f.g.world.balance(ledger::app_account(f.brand.id)) == before - 842 - 702);
  REQUIRE(purchase["campaign_ids"].size() == 2);
  CHECK(f.serve().body["campaign"]["payout_rate"] == 757 / 99);
  const std::string path = "/api/v1/ads/purchases/" + purchase["id"].get<std::string>();
  CHECK(f.ask(f.other, "GET", path).error() == "403 forbidden");
  for (const json& id : purchase["campaign_ids"]) {
    CHECK(f.ask(f.manage, "GET", path).body["purchase"]["status"] == "completed");
    f.ask(f.manage, "DELETE", "/api/external/campaigns/" + id.get<std::string>());
  }
  CHECK(f.ask(f.manage, "GET", path).body["purchase"]["status"] == "refunded");
}

TEST_CASE("ads api: analytics agree with the events") {
  Fixture f;
  f.g.services.rules.ads.viewer_daily_impressions = 3;
  const json campaign = f.create(Fixture::order());
  const auto see = [&] {
    const auto served = f.serve();
    if (served.status == 200) f.report(campaign);
  };
  see();
  f.report(campaign, "click");
  f.report(campaign, "click");   // for the same impression
  f.report(campaign);            // it wasn't served
  f.g.world.clock.advance(13h);  // 2026-02-01
  const Header again = f.token(f.game, f.viewer, "profile:read");
  f.show = again;
  f.manage = f.token(f.brand, f.advertiser, "campaigns:manage");
  for (int i = 0; i < 4; ++i) see();
  const auto analytics = [&](const std::string& window) {
    return f.ask(
        f.manage, "GET",
        "/api/v1/ads/campaigns/" + campaign["id"].get<std::string>() + "/analytics" + window);
  };
  const auto all = analytics("").body;
  CHECK(all["campaign_name"] == "Spring");
  CHECK(all["summary"] ==
        json{{"total_impressions", 4}, {"total_clicks", 1}, {"total_spend", 40}, {"ctr", 25.0}});
  REQUIRE(all["daily"].size() == 2);
  CHECK(all["daily"][0]["date"] == "2026-01-31");
  CHECK(all["daily"][0]["ctr"] == 100.0);
  CHECK(all["daily"][1]["date"] == "2026-02-01");
  CHECK(all["daily"][1]["impressions"] == 3);
  CHECK(analytics("?from=2026-01-31&to=2026-01-31").body["summary"]["total_impressions"] == 1);
  CHECK(analytics("?from=2026-02-02&to=2026-02-02").body["daily"].empty());
  CHECK(analytics("?from=2026-02-02&to=2026-02-01").error() == "422 validation_failed");
  CHECK(analytics("?from=0001-01-01&to=9999-12-31").body == all);
  CHECK(analytics("?from=yesterday").error() == "422 validation_failed");
}

}  // namespace
