// Many clients share one budget. It is spent exactly once and not exceeded, however berthd ends.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

constexpr int clients = 64;
constexpr int viewers = 8;
constexpr int impressions = 400;
constexpr int payout = 9;
constexpr int payment = 4'000;  // makes a budget of 3,600
constexpr int killed_after = 120;
constexpr int patient_misses = 20;  // how often a client gets no ad before it stops
constexpr int reservation_seconds = 600;
constexpr const char* pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg==";

class Market {
 public:
  Market()
      : berthd_({"--rate-limits", "off", "--ads", "{viewer-daily-impressions: 1000}"}),
        brand_(operator_with_token(berthd_, "brand", {"campaigns:manage"})),
        game_owner_(register_verified_user(berthd_, "game")),
        game_(create_app(berthd_, game_owner_, {"profile:read", "app:balance:read"})) {
    approve(berthd_, game_owner_, game_, {"app:balance:read"});
    balance_token_ = token(game_owner_, {"app:balance:read"});
    for (int i = 0; i < viewers; ++i)
      viewer_tokens_.push_back(
          token(register_verified_user(berthd_, "viewer" + std::to_string(i)), {"profile:read"}));
    Client client(berthd_);
    expect(201, client.post("/api/internal/points/mint",
                            {{"account", {{"kind", "app"}, {"id", brand_.app.id}}},
                             {"amount", payment},
                             {"reason", "test"}},
                            admin(berthd_)));
    campaign_id_ =
        expect(201, brand_.api.post("/api/external/campaigns", {{"name", "Spring"},
                                                                {"surface_type", "banner"},
                                                                {"total_payment", payment},
                                                                {"payout_rate", payout}}))
            .body.at("campaign")
            .at("id");
  }

  Berthd& berthd() { return berthd_; }
  json campaign() {
    return expect(200, brand_.api.get("/api/external/campaigns/" + campaign_id_))
        .body.at("campaign");
  }
  int paid() const { return paid_; }

  // Serves and reports with all clients until there is nothing more for them, or until berthd is
  // gone. berthd is killed once this many impressions are paid.
  void run(int kill_at) {
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i)
      threads.emplace_back(
          [this, i, kill_at] { watch(viewer_tokens_[size_t(i % viewers)], kill_at); });
    for (std::thread& thread : threads) thread.join();
  }

  // Releases the reservations of clients that were interrupted.
  void release_reservations() {
    Client client(berthd_);
    expect(200, client.post("/api/internal/clock", {{"advance_seconds", reservation_seconds}},
                            admin(berthd_)));
    if (!eventually([&] { return campaign().at("reserved") == 0; }))
      throw std::runtime_error("reservations don't come back: " + campaign().dump());
  }

  void check_end() {
    const json end = campaign();
    CHECK(end.at("status") == "exhausted");
    CHECK(end.at("spent") == impressions * payout);
    CHECK(end.at("reserved") == 0);
    CHECK(end.at("remaining") == 0);
    CHECK(expect(200, Client(berthd_, balance_token_).get("/api/external/app/balance"))
              .body.at("balance") == impressions * payout);
    const json analytics =
        expect(200, brand_.api.get("/api/v1/ads/campaigns/" + campaign_id_ + "/analytics"))
            .body.at("summary");
    CHECK(analytics.at("total_impressions") == impressions);
    CHECK(analytics.at("total_spend") == impressions * payout);
    const json audit =
        expect(200, Client(berthd_).get("/api/internal/ledger/audit", admin(berthd_))).body;
    INFO(audit.dump(2));
    CHECK(audit.at("ok") == true);
  }

 private:
  std::string token(const User& user, const std::vector<std::string>& scopes) {
    const Code code = authorize(berthd_, user, game_, scopes);
    return tokens_of(
               expect(200, Client(berthd_).post("/api/oauth/token", code_exchange(game_, code))))
        .access_token;
  }

  void watch(const std::string& viewer, int kill_at) {
    Client client(berthd_, viewer);
    try {
      for (int misses = 0; misses < patient_misses;) {
        const Answer served = client.get("/api/external/ads/serve?surface_type=banner");
        if (served.status != 200) {
          ++misses;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          continue;
        }
        misses = 0;
        const Answer answer = client.post(
            "/api/external/ads/event", {{"campaign_id", campaign_id_},
                                        {"event_type", "impression"},
                                        {"impression_token", served.body.at("impression_token")}});
        if (answer.status == 201 && answer.body.at("paid") == true && ++paid_ == kill_at)
          berthd_.send(9);
      }
    } catch (const NoAnswer&) {
    }
  }

  Berthd berthd_;
  Operator brand_;
  User game_owner_;
  App game_;
  std::string balance_token_;
  std::vector<std::string> viewer_tokens_;
  std::string campaign_id_;
  std::atomic<int> paid_ = 0;
};

}  // namespace

TEST_CASE("ads: 64 clients on a budget for 400 impressions get 400 paid") {
  Market market;
  market.run(-1);
  CHECK(market.paid() == impressions);
  market.check_end();
}

TEST_CASE("ads: the same holds if berthd is killed in the middle") {
  Market market;
  market.run(killed_after);
  market.berthd().kill();
  market.berthd().start();
  const int spent = market.campaign().at("spent");
  CHECK(spent >= market.paid() * payout);
  CHECK(spent <= (market.paid() + clients) * payout);
  // One round for each time that clients were interrupted, or stopped while others held the rest.
  constexpr int rounds = 3;
  for (int i = 0; i < rounds && market.campaign().at("status") == "active"; ++i) {
    market.run(-1);
    if (market.campaign().at("status") == "active") market.release_reservations();
  }
  CHECK(market.paid() <= impressions);
  CHECK(market.paid() >= impressions - clients);
  market.check_end();
}

TEST_CASE("ads: the link of an ad leads to its page alone, and counts once") {
  const Berthd& berthd = shared_berthd();
  Operator brand = operator_with_token(berthd, fresh_name("brand"), {"campaigns:manage"});
  Client client(berthd);
  expect(201, client.post("/api/internal/points/mint",
                          {{"account", {{"kind", "app"}, {"id", brand.app.id}}},
                           {"amount", payment},
                           {"reason", "test"}},
                          admin(berthd)));
  const std::string campaign =
      expect(201, brand.api.post("/api/external/campaigns", {{"name", "Spring"},
                                                             {"surface_type", "native"},
                                                             {"total_payment", payment},
                                                             {"payout_rate", payout}}))
          .body.at("campaign")
          .at("id");
  const std::string link = "https://chess.example.org/?from=ad";
  const json creative =
      expect(201, brand.api.post("/api/external/campaigns/" + campaign + "/creatives",
                                 {{"title", "Play chess"}, {"link", link}, {"image", pixel}}))
          .body.at("creative");
  const std::string picture = creative.at("image_url");
  const Answer image = expect(200, client.get(picture.substr(picture.find("/ads/"))));
  CHECK(image.header("Content-Type") == "image/png");
  CHECK(image.header("X-Content-Type-Options") == "nosniff");
  CHECK(image.header("Access-Control-Allow-Origin") == "*");
  CHECK(image.header("Cache-Control") == "public, max-age=31536000, immutable");
  CHECK_FALSE(image.has_header("Set-Cookie"));

  const User owner = register_verified_user(berthd, fresh_name("game"));
  const App game = create_app(berthd, owner, {"profile:read"});
  const User player = register_verified_user(berthd, fresh_name("player"));
  const Code code = authorize(berthd, player, game, {"profile:read"});
  Client playing(berthd,
                 tokens_of(expect(200, client.post("/api/oauth/token", code_exchange(game, code))))
                     .access_token);
  const json served = expect(200, playing.get("/api/external/ads/serve?surface_type=native")).body;
  const std::string url = served.at("campaign").at("creative").at("click_url");
  const std::string path = url.substr(url.find("/ads/"));
  expect(201, playing.post("/api/external/ads/event",
                           {{"campaign_id", campaign},
                            {"event_type", "impression"},
                            {"impression_token", served.at("impression_token")}}));
  const auto clicks = [&] {
    return expect(200, brand.api.get("/api/external/campaigns/" + campaign + "/creatives"))
        .body.at("creatives")[0]
        .at("clicks")
        .get<int>();
  };
  // What looks at the link without opening it doesn't count.
  CHECK(client.ask({.method = "HEAD", .path = path}).status == 303);
  CHECK(client.get(path, {{"Sec-Purpose", "prefetch;prerender"}}).header("Location") == link);
  CHECK(clicks() == 0);
  for (int i = 0; i < 3; ++i) {
    const Answer followed = client.get(path);
    CHECK(followed.status == 303);
    CHECK(followed.header("Location") == link);
    CHECK(followed.header("Cache-Control") == "no-store");
    CHECK(clicks() == 1);
  }
  for (const std::string& more :
       {std::string("&token=clk_x"), std::string("&url=https://evil.example.org/"),
        std::string("&link=//evil.example.org")})
    CHECK(client.get(path + more).header("Location") == link);
  for (const std::string& bad : {std::string("/ads/click"), std::string("/ads/click?token="),
                                 std::string("/ads/click?token=https://evil.example.org/"),
                                 path.substr(0, path.size() - 1), path + "0"}) {
    const Answer refused = client.get(bad);
    CHECK(refused.status == 404);
    CHECK(refused.header("Location").empty());
    CHECK(refused.header("Content-Type") == "text/html; charset=utf-8");
  }
}
