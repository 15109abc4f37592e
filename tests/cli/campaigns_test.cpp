// Campaigns with the client, against the real berthd.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

// Sets up a user whose app may have campaigns and has the points for them.
void settle_in_with_points(const Berthd& berthd, const Person& person) {
  person.settle_in("ada", "campaigns:manage,app:balance:read");
  person.must({"admin", "mint", "5000", "--reason", "a test"}, "",
              {{"BERTH_INTERNAL_SECRET", berthd.internal_secret()}});
}

}  // namespace

TEST_CASE("a campaign's life: create, show, pause, resume, top up, cancel") {
  const Berthd berthd;
  const Person ada(berthd);
  settle_in_with_points(berthd, ada);
  const json made =
      ada.must({"campaigns", "create", "Spring", "--payment", "1000", "-o", "json"}).body();
  CHECK(made.at("campaign").at("payout_rate") == 10);
  CHECK(made.at("campaign").at("surface_type") == "banner");
  CHECK(made.at("campaign").at("budget") == 900);
  const std::string id = made.at("campaign").at("id");
  CHECK(ada.must({"campaigns", "list"}).out.find("Spring") != std::string::npos);
  CHECK(ada.must({"campaigns", "show", id}).out.find("Budget:") != std::string::npos);
  CHECK(ada.must({"campaigns", "pause", "Spring"}).out == "The campaign is paused.\n");
  CHECK(
      ada.must({"campaigns", "show", "Spring", "-o", "json"}).body().at("campaign").at("status") ==
      "paused");
  ada.must({"campaigns", "resume", "Spring"});
  CHECK(ada.must({"campaigns", "top-up", "Spring", "1000"}).out ==
        "Its budget is 1800 points now.\n");
  CHECK(ada.must({"apps", "balance"}).out == "3000 points\n");
  CHECK(ada.berth({"campaigns", "cancel", "Spring"}).code == 2);
  CHECK(ada.must({"campaigns", "cancel", "Spring", "--yes"}).out ==
        "Cancelled; 1800 points were refunded.\n");
  const std::string end = ada.must({"campaigns", "show", id}).out;
  CHECK(end.find("Refunded:   1800\n") != std::string::npos);
  CHECK(end.find("Ended by:   cancelled\n") != std::string::npos);
  CHECK(ada.berth({"campaigns", "pause", id}).code == 6);
}

TEST_CASE("all five surface types are accepted, three are offered, others aren't sent") {
  const Berthd berthd;
  const Person ada(berthd);
  settle_in_with_points(berthd, ada);
  for (const char* surface : {"banner", "video", "rewarded", "interstitial", "native"})
    ada.must({"campaigns", "create", surface, "--payment", "100", "--surface", surface});
  CHECK(ada.berth({"campaigns", "create", "x", "--payment", "100", "--surface", "poster"}).code ==
        2);
  CHECK(ada.berth({"campaigns", "create", "x", "--payment", "0"}).code == 2);
  CHECK(ada.berth({"campaigns", "create", "x", "--payment", "100", "--targeting", "de"}).code == 2);
  const Ran help = ada.must({"campaigns", "create", "--help"});
  CHECK(help.out.find("banner, video, rewarded") != std::string::npos);
  CHECK(help.out.find("interstitial") == std::string::npos);
  CHECK(ada.berth({"campaigns", "create", "x", "--payment", "999999"}).code == 7);
}

TEST_CASE("stats draw a chart of the days") {
  const Berthd berthd;
  const Person ada(berthd);
  settle_in_with_points(berthd, ada);
  const std::string id = ada.must({"campaigns", "create", "Spring", "--payment", "1000",
                                   "--targeting", "{\"geography\": \"DE\"}", "-o", "json"})
                             .body()
                             .at("campaign")
                             .at("id");
  berth::process::Client app(berthd, ada.tokens().at("access_token"));
  for (int i = 0; i < 3; ++i)
    berth::process::expect(201, app.post("/api/external/ads/event",
                                         {{"campaign_id", id}, {"event_type", "impression"}}));
  const json body = ada.must({"campaigns", "stats", id, "-o", "json"}).body();
  CHECK(body.at("summary").at("total_impressions") == 3);
  const std::string table = ada.must({"campaigns", "stats", id}).out;
  CHECK(table.find("Impressions:  3") != std::string::npos);
  CHECK(table.find("Impressions by day (UTC)") != std::string::npos);
  CHECK(table.find("█  3  0 clicks, 30 points") != std::string::npos);
  CHECK(ada.must({"campaigns", "stats", "Spring"}, "", {{"LC_ALL", "C"}}).out.find("#  3") !=
        std::string::npos);
}
