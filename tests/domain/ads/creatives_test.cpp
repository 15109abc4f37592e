// Creatives of campaigns: who may add which, how they take turns, what a click leads to and counts,
// and when they go.
#include "controller/domain/ads/creatives.h"

#include <catch2/catch.hpp>
#include <iostream>

#include "controller/domain/ads/analytics.h"
#include "controller/domain/ads/campaign_erasure.h"
#include "controller/domain/ads/upkeep.h"
#include "tests/domain/ads/ads_world.h"
#include "tests/domain/ads/pictures.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using creatives::Links;

const std::string link = "https://chess.example.org/play?from=berth#now";

struct CreativesWorld : AdsWorld {
  campaigns::Campaign campaign = new_campaign();

  static creatives::Order order(const std::string& title = "Play chess") {
    return {.title = title, .text = "Against everybody.", .link = link};
  }
  static creatives::Order with_picture(const std::string& title = "Play chess") {
    creatives::Order order = CreativesWorld::order(title);
    order.picture = ads::encoded_anew(png());
    return order;
  }
  creatives::Creative add(const creatives::Order& order = CreativesWorld::order(),
                          Links links = Links::https) {
    return world.write(
        [&](db::Tx& tx) { return creatives::add(tx, actor(brand), campaign.id, order, links); });
  }
  void remove(const std::string& id) {
    world.write([&](db::Tx& tx) { creatives::remove(tx, actor(brand), campaign.id, id); });
  }
  std::vector<creatives::Creative> list() {
    return world
        .read([&](db::Tx& tx) {
          return creatives::list(tx, actor(brand), campaign.id, {.page = 1, .page_size = 100});
        })
        .items;
  }
  bool has_picture(const std::string& id) {
    return world.read([&](db::Tx& tx) { return creatives::find_picture(tx, id).has_value(); });
  }
  std::int64_t rows(std::string_view table) {
    const std::string sql = "SELECT count(*) FROM " + std::string(table);
    return world.read([&](db::Tx& tx) { return tx.number(sql); });
  }
  void run_upkeep() {
    Round round(world.db);
    ads::do_what_is_due(round);
  }
  // Where the link of an impression leads; empty if it is gone.
  std::string target(const std::string& token) {
    return world.read([&](db::Tx& tx) {
      const auto found = creatives::find_target(tx, token, world.keys.data);
      return found ? found->link : std::string();
    });
  }
  std::string token(const ads::Served& served) const {
    return creatives::click_token(served.impression_id, world.keys.data);
  }
  bool click(const ads::Served& served) {
    return world.write(
        [&](db::Tx& tx) { return ads::record_followed_link(tx, served.impression_id); });
  }
  std::int64_t clicks() {
    return world.read([&](db::Tx& tx) {
      const std::int64_t today = utc_day(tx.now());
      return ads::sum(ads::days(tx, campaign.id, today, today)).clicks;
    });
  }
};

TEST_CASE("creatives: a served ad has the campaign's creatives in turn, and none if it has none") {
  CreativesWorld w;
  CHECK(w.serve().creative == nullptr);
  const auto first = w.add(CreativesWorld::with_picture("First"));
  const auto second = w.add(CreativesWorld::order("Second"));
  CHECK(w.find(w.campaign.id).creatives == 2);
  std::vector<std::string> titles;
  for (int i = 0; i < 4; ++i) titles.push_back(w.serve().creative->title);
  CHECK(titles == std::vector<std::string>{"First", "Second", "First", "Second"});
  const auto served = w.serve().creative;
  CHECK(served->picture->width == 6);
  CHECK(served->text == "Against everybody.");
  w.remove(first.id);
  CHECK(w.find(w.campaign.id).creatives == 1);
  for (int i = 0; i < 3; ++i) CHECK(w.serve().creative->title == "Second");
  w.remove(second.id);
  CHECK(w.serve().creative == nullptr);
  CHECK(w.list().empty());
}

TEST_CASE("creatives: texts and links are checked") {
  CreativesWorld w;
  const auto refused = [&](const creatives::Order& order, Links links = Links::https) {
    const Details reasons = details([&] { w.add(order, links); });
    return reasons.empty() ? "" : reasons.begin()->first;
  };
  const auto with_link = [](const std::string& to) {
    creatives::Order order = CreativesWorld::order();
    order.link = to;
    return order;
  };
  CHECK(refused({.title = "", .link = link}) == "title");
  CHECK(refused({.title = std::string(81, 'x'), .link = link}) == "title");
  CHECK(refused({.title = "a\nb", .link = link}) == "title");
  CHECK(refused({.title = "a\u202eb", .link = link}) == "title");
  CHECK(refused({.title = "a", .text = "", .link = link}) == "text");
  CHECK(refused({.title = "a", .text = std::string(301, 'x'), .link = link}) == "text");
  const std::vector<std::string> bad = {"",
                                        "chess.example.org",
                                        "http://chess.example.org/",
                                        "//chess.example.org/",
                                        "javascript:alert(1)",
                                        "data:text/html,<script>",
                                        "https:chess.example.org",
                                        "https://",
                                        "https:///path",
                                        "https://user:secret@chess.example.org/",
                                        "https://chess.example.org/a b",
                                        "https://chess.example.org/\r\nSet-Cookie: a=b",
                                        "https://chess.example.org\\@evil.example.org/",
                                        "https://chess.example.org/\"",
                                        "https://chess.example.org/ü",
                                        "https://0x7f000001/",
                                        "http://127.0.0.1:8080/",
                                        "https://chess.example.org/" + std::string(2'048, 'x')};
  for (const std::string& to : bad) {
    INFO(to.substr(0, 60));
    CHECK(refused(with_link(to)) == "link");
  }
  std::cout << bad.size() << " links are refused\n";
  CHECK(refused(with_link("http://127.0.0.1:8080/"), Links::http_on_loopback_too).empty());
  CHECK(refused(with_link("http://hello.localhost:8080/"), Links::http_on_loopback_too).empty());
  CHECK(refused(with_link("http://chess.example.org/"), Links::http_on_loopback_too) == "link");
}

TEST_CASE("creatives: a campaign has ten at most, and an owner's pictures a limit in bytes") {
  CreativesWorld w;
  for (int i = 0; i < creatives::max_per_campaign; ++i) w.add();
  CHECK(refusal([&] { w.add(); }) == "409 invalid_state");
  w.remove(w.list().front().id);
  w.add();
  CHECK(w.find(w.campaign.id).creatives == creatives::max_per_campaign);
  // Pictures count until they are deleted, over all campaigns of the owner.
  creatives::Order large = CreativesWorld::with_picture();
  large.picture->content.resize(ads::max_picture_bytes, ' ');
  int stored = 0;
  std::string last;
  while (stored < 200) {
    w.remove(w.list().front().id);
    last = refusal([&] { w.add(large); });
    if (!last.empty()) break;
    ++stored;
  }
  CHECK(last == "409 invalid_state");
  CHECK(stored == creatives::max_picture_bytes_of_owner / std::int64_t(ads::max_picture_bytes));
  w.world.clock.advance(creatives::removed_picture_kept_for + 1s);
  w.run_upkeep();
  w.add(large);
}

TEST_CASE("creatives: only the campaign's app has them, and only while the campaign lives") {
  CreativesWorld w;
  const auto creative = w.add();
  const auto stranger = [&](auto&& work) {
    return refusal([&] { w.world.write([&](db::Tx& tx) { work(tx, w.actor(w.game)); }); });
  };
  CHECK(stranger([&](db::Tx& tx, const campaigns::Actor& actor) {
          creatives::add(tx, actor, w.campaign.id, CreativesWorld::order(), Links::https);
        }) == "403 forbidden");
  CHECK(stranger([&](db::Tx& tx, const campaigns::Actor& actor) {
          creatives::remove(tx, actor, w.campaign.id, creative.id);
        }) == "403 forbidden");
  CHECK(stranger([&](db::Tx& tx, const campaigns::Actor& actor) {
          creatives::list(tx, actor, w.campaign.id, {});
        }) == "403 forbidden");
  w.remove(creative.id);
  CHECK(refusal([&] { w.remove(creative.id); }) == "404 creative_not_found");
  const auto other = w.new_campaign();
  const auto kept = w.add();
  CHECK(refusal([&] {
          w.world.write(
              [&](db::Tx& tx) { creatives::remove(tx, w.actor(w.brand), other.id, kept.id); });
        }) == "404 creative_not_found");
  w.cancel(w.campaign.id);
  CHECK(refusal([&] { w.add(); }) == "409 invalid_state");
}

TEST_CASE("creatives: a link counts one click for a paid impression, and brings no points") {
  CreativesWorld w;
  w.add();
  const auto served = w.serve();
  CHECK(w.target(w.token(served)) == link);
  CHECK_FALSE(w.click(served));  // nobody has reported that they have seen it
  CHECK(w.rows("ad_events") == 0);
  w.record(w.report(w.campaign.id, ads::EventType::impression, served.impression_token));
  const std::int64_t of_viewer = w.points(w.viewer), of_game = w.points(w.game);
  CHECK(w.click(served));
  for (int i = 0; i < 50; ++i) CHECK_FALSE(w.click(served));
  CHECK(w.rows("ad_events") == 2);
  CHECK(w.clicks() == 1);
  CHECK(w.points(w.viewer) == of_viewer);
  CHECK(w.points(w.game) == of_game);
  // The app's own report of the same click doesn't count a second time.
  CHECK(w.outcome(w.campaign.id, ads::EventType::click, served.impression_token) == "replayed");
  const auto creative = w.list().front();
  CHECK(creative.impressions == 1);
  CHECK(creative.clicks == 1);
}

TEST_CASE("creatives: a click that the app reports counts for the creative that was shown") {
  CreativesWorld w;
  w.add(CreativesWorld::order("First"));
  w.add(CreativesWorld::order("Second"));
  const auto first = w.serve();
  const auto second = w.serve();
  for (const auto& served : {first, second})
    w.record(w.report(w.campaign.id, ads::EventType::impression, served.impression_token));
  CHECK(w.outcome(w.campaign.id, ads::EventType::click, second.impression_token) == "counted");
  for (const auto& creative : w.list()) {
    CHECK(creative.impressions == 1);
    CHECK(creative.clicks == (creative.title == "Second" ? 1 : 0));
  }
}

TEST_CASE("creatives: a link can't be made up, and leads nowhere but to its creative's page") {
  CreativesWorld w;
  w.add();
  const auto served = w.serve();
  const std::string good = w.token(served);
  CHECK(w.target(good) == link);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = changed[i] == '0' ? '1' : '0';
    CHECK(w.target(changed).empty());
  }
  for (const std::string& bad : {std::string(), good.substr(1), good + "0", std::string("clk_"),
                                 std::string(good.size(), '0'), good + std::string(1'000, '0')})
    CHECK(w.target(bad).empty());
  const std::string of_other_key =
      creatives::click_token(served.impression_id, std::string(32, 'x'));
  CHECK(w.target(of_other_key).empty());
}

TEST_CASE(
    "creatives: what was removed works for ads that were shown before, and goes after a while") {
  CreativesWorld w;
  const auto creative = w.add(CreativesWorld::with_picture());
  const auto served = w.serve();
  w.record(w.report(w.campaign.id, ads::EventType::impression, served.impression_token));
  w.remove(creative.id);
  CHECK(w.target(w.token(served)) == link);
  CHECK(w.has_picture(creative.id));
  w.world.clock.advance(creatives::removed_picture_kept_for);
  w.run_upkeep();
  CHECK_FALSE(w.has_picture(creative.id));
  CHECK(w.target(w.token(served)) == link);
  w.world.clock.advance(creatives::kept_for);
  w.run_upkeep();
  CHECK(w.rows("ad_creatives") == 0);
  CHECK(w.target(w.token(served)).empty());
}

TEST_CASE("creatives: those of an ended campaign go with its events, in any way that it ends") {
  for (const std::string how : {"cancelled", "ended", "exhausted"}) {
    INFO(how);
    CreativesWorld w;
    auto order = AdsWorld::order(how == "exhausted" ? 12 : 1'000, 10);
    if (how == "ended") order.ends_at = w.world.clock.now() + 1h;
    w.cancel(w.campaign.id);
    w.campaign = w.new_campaign(order);
    const auto creative = w.add(CreativesWorld::with_picture());
    const auto served = w.serve();
    w.record(w.report(w.campaign.id, ads::EventType::impression, served.impression_token));
    if (how == "cancelled") w.cancel(w.campaign.id);
    w.world.clock.advance(2h);
    w.run_upkeep();
    CHECK_FALSE(w.find(w.campaign.id).is_live());
    CHECK(w.list().size() == 1);
    CHECK(w.has_picture(creative.id));
    w.world.clock.advance(creatives::kept_for);
    w.run_upkeep();
    w.run_upkeep();
    CHECK(w.rows("ad_pictures") == 0);
    CHECK(w.rows("ad_creatives") == 0);
  }
}

TEST_CASE("creatives: an admin takes one down at once, and a deleted app's are erased") {
  CreativesWorld w;
  const auto bad = w.add(CreativesWorld::with_picture());
  const auto removed = w.add(CreativesWorld::with_picture());
  w.remove(removed.id);
  const auto take_down = [&](const std::string& id) {
    return refusal([&] { w.world.write([&](db::Tx& tx) { creatives::take_down(tx, id); }); });
  };
  CHECK(take_down(bad.id).empty());
  CHECK(take_down(removed.id).empty());  // its picture could still be loaded
  CHECK(take_down(bad.id) == "404 creative_not_found");
  CHECK(w.rows("ad_pictures") == 0);
  CHECK(w.find(w.campaign.id).creatives == 0);
  CHECK(w.serve().creative == nullptr);
  w.add(CreativesWorld::with_picture());
  w.cancel(w.campaign.id);
  while (w.world.write([&](db::Tx& tx) { return campaigns::erase_words(tx, w.brand.id, 1); }) > 0) {
  }
  CHECK(w.rows("ad_pictures") == 0);
  CHECK(w.rows("ad_creatives") == 0);
}

}  // namespace
