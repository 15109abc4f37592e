#include "controller/domain/webhooks/alert_messages.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "controller/base/text.h"

namespace {

using namespace berth;
using alerts::Channel;
using nlohmann::json;

const std::string base = "https://berth.example.org";
const Instant noon = from_millis(1'769'860'800'000);  // 2026-01-31T12:00:00Z

alerts::Event event(const std::string& type, json data, const std::string& app_name = "Game") {
  return {.id = "01936f5e-7c1a-7000-8000-00000000000c",
          .type = type,
          .app_id = "a1",
          .app_name = app_name,
          .data = std::move(data),
          .at = noon};
}
alerts::Event crash(const std::string& name = "shop", const std::string& words = "") {
  return event("deployment.crashed", {{"id", "d1"},
                                      {"status", "errored"},
                                      {"subdomain", name},
                                      {"reason", "crash_loop"},
                                      {"cause", nullptr},
                                      {"message", words},
                                      {"last_health_check", 1'769'860'800'000},
                                      {"served_domain", nullptr}});
}
alerts::Message message(Channel channel, std::vector<alerts::Event> events, int more = 0) {
  return {.alert_id = "al1",
          .alert_name = "Team",
          .owner_id = "u1",
          .channel = channel,
          .target = {.url = channel == Channel::telegram ? "https://api.telegram.org"
                                                         : "https://hooks.example.org/secret",
                     .bot_token = "123:abc",
                     .chat_id = "-100",
                     .secret = "whsec_"},
          .attempt = 1,
          .events = std::move(events),
          .more = more,
          .last_number = 1};
}
json body_of(const alerts::Message& message) {
  return json::parse(alerts::post_of(message, base).body);
}

// What a user may write to be heard, or to look like berth.
const std::string nasty =
    "@everyone <!channel> <@U123> **bold** [link](https://evil.example) `code` &amp; "
    "<https://e.x|y>";

}  // namespace

TEST_CASE("each type of events has a sentence") {
  for (const std::string_view type : alerts::types) {
    CAPTURE(type);
    const auto text = alerts::text_of(event(std::string(type), json::object()));
    CHECK_FALSE(text.title.empty());
    CHECK_FALSE(text.title.ends_with('.'));
    CHECK(text.path.starts_with("/console/"));
    // Whatever a field holds, nothing throws.
    const json odd = {{"subdomain", json::array()}, {"reason", 5},          {"amount", nullptr},
                      {"name", json::object()},     {"percent", "x"},       {"from", "yesterday"},
                      {"hours_left", 1.5},          {"message", "a\nb\x01"}};
    CHECK_FALSE(alerts::text_of(event(std::string(type), odd)).title.empty());
    CHECK_FALSE(alerts::text_of(event(std::string(type), "no object")).title.empty());
  }
}

TEST_CASE("what alerts say") {
  const auto text = [](const std::string& type, const json& data) {
    const auto found = alerts::text_of(event(type, data));
    return found.title + " | " + found.detail;
  };
  CHECK(text("deployment.crashed", crash("shop", "panic: no\n db").data) ==
        "shop has crashed | Its container keeps crashing. panic: no  db");
  CHECK(
      text("deployment.failed",
           {{"subdomain", "shop"}, {"reason", "rollout_failed"}, {"cause", "image_pull_failed"}}) ==
      "The new version of shop has failed | The cluster can't get its image. The version before "
      "it goes on.");
  CHECK(text("certificate.failed",
             {{"domain", "a.example.org"}, {"reason", "txt_missing"}, {"message", "no TXT."}}) ==
        "The domain a.example.org isn't served | The reason: txt missing. no TXT.");
  CHECK(text("billing.warning", {{"name", "shop"},
                                 {"amount", 100},
                                 {"balance", 1},
                                 {"stops_at", "2026-01-31T12:00:00.000Z"}}) ==
        "shop will be stopped at 2026-01-31 12:00 UTC unless points arrive | 30 days cost 100 "
        "points, and the app has 1 point.");
  CHECK(text("billing.failed",
             {{"name", "shop"}, {"amount", 0}, {"points_per_hour", 3}, {"balance", 1}}) ==
        "shop was stopped, because points are missing | An hour costs 3 points, and the app has 1 "
        "point.");
  CHECK(text("billing.reactivated",
             {{"name", "shop"}, {"amount", 100}, {"paid_until", "2026-01-31T12:00:00.000Z"}}) ==
        "shop starts again | It is paid until 2026-01-31 12:00 UTC.");
  CHECK(text("billing.reactivated",
             {{"name", "shop"}, {"amount", 0}, {"paid_until", "2026-01-31T12:00:00.000Z"}}) ==
        "shop starts again | ");
  CHECK(text("balance.low",
             {{"balance", 1}, {"held", 0}, {"points_per_hour", 4}, {"hours_left", 0}}) ==
        "The points are running out | The app has 1 point. It pays 4 points an hour. That lasts "
        "for less than an hour.");
  CHECK(text("balance.low",
             {{"balance", 20}, {"held", 5}, {"points_per_hour", 4}, {"hours_left", 5}}) ==
        "The points are running out | The app has 20 points, of which 5 are held. It pays 4 points "
        "an hour. That lasts for about 5 hours.");
  CHECK(text("budget.reached", {{"period", "day"},
                                {"limit", 100},
                                {"spent", 100},
                                {"percent", 100},
                                {"at_limit", "stop_all"}}) ==
        "The budget is used up | 100 of 100 points of the day. All its deployments are stopped.");
  CHECK(text("deployment.run_failed", {{"kind", "cron"},
                                       {"name", "nightly"},
                                       {"exit_code", 3},
                                       {"reason", "command_failed"},
                                       {"message", nullptr}}) ==
        "The cron nightly has failed | The reason: command failed, exit code 3.");
  CHECK(text("deployment.run_failed", {{"kind", "release"},
                                       {"name", nullptr},
                                       {"exit_code", nullptr},
                                       {"reason", "timed_out"},
                                       {"message", nullptr}}) ==
        "A release command has failed | The reason: timed out.");
  CHECK(text("points.spent", {{"amount", 5}, {"description", "a sword"}}) ==
        "A user has spent 5 points | a sword");
  CHECK(alerts::text_of(crash()).path == "/console/deployments/d1");
  CHECK(alerts::text_of(event("charge.settled", {{"points", 3}})).path ==
        "/console/apps/a1/points");
}

TEST_CASE("a text is cut without cutting a character in two") {
  CHECK(alerts::shortened("äöü", 3) == "äöü");
  CHECK(alerts::shortened("äöü", 2) == "ä…");
  CHECK(alerts::utf16_units("aä🎲") == 4);
  const auto long_words = alerts::text_of(crash("shop", std::string(5000, 'x')));
  CHECK(characters(long_words.detail) == alerts::max_detail);
}

TEST_CASE("Discord mentions nobody, and shows what users wrote as it is") {
  const json body = body_of(message(Channel::discord, {crash("shop", nasty)}));
  CHECK(body.at("allowed_mentions") == json{{"parse", json::array()}});
  CHECK(body.at("content") == "Game\\: shop has crashed");
  const json& embed = body.at("embeds").at(0);
  CHECK(embed.at("url") == base + "/console/deployments/d1");
  CHECK(embed.at("footer").at("text") == "Game");
  CHECK(embed.at("timestamp") == "2026-01-31T12:00:00.000Z");
  const std::string said = embed.at("description");
  CHECK(said.find("@everyone") == std::string::npos);
  CHECK(said.find("\\*\\*bold\\*\\*") != std::string::npos);
  CHECK(said.find("https://") == std::string::npos);
  CHECK(alerts::escaped_for_discord("<@1>") == "\\<\\@\u200b1\\>");
}

TEST_CASE("Slack mentions nobody, and links only to the console") {
  const json body = body_of(message(Channel::slack, {crash("shop", nasty)}, 12));
  const std::string text = body.dump();
  CHECK(text.find("<!channel>") == std::string::npos);
  CHECK(text.find("<@U123>") == std::string::npos);
  CHECK(text.find("<https://e.x") == std::string::npos);
  CHECK(body.at("text") == "Game: shop has crashed, and 12 more");
  const json& blocks = body.at("blocks");
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].at("text").at("type") == "plain_text");
  CHECK(blocks[1].at("elements").at(0).at("text") ==
        "<" + base + "/console/deployments/d1|Open the console>");
  CHECK(blocks[2].at("text").at("text") == "and 12 more");
}

TEST_CASE("Telegram gets plain text by the bot's address, and mentions nobody") {
  const auto post = alerts::post_of(message(Channel::telegram, {crash("shop", nasty)}), base);
  CHECK(post.url == "https://api.telegram.org/bot123:abc/sendMessage");
  const json body = json::parse(post.body);
  CHECK(body.at("chat_id") == "-100");
  CHECK_FALSE(body.contains("parse_mode"));
  CHECK(body.at("link_preview_options").at("is_disabled") == true);
  const std::string text = body.at("text");
  CHECK(text.starts_with("Game: shop has crashed\n"));
  CHECK(text.find("@everyone") == std::string::npos);
  CHECK(text.ends_with(base + "/console/deployments/d1"));
  CHECK(post.body.find("123:abc") == std::string::npos);
}

TEST_CASE("a webhook gets what programs need") {
  const json body = body_of(message(Channel::webhook, {crash()}, 2));
  CHECK(body.at("type") == "alert");
  CHECK(body.at("id") == "01936f5e-7c1a-7000-8000-00000000000c");
  CHECK(body.at("data").at("more") == 2);
  CHECK(body.at("data").at("name") == "Team");
  const json& told = body.at("data").at("events").at(0);
  CHECK(told.at("type") == "deployment.crashed");
  CHECK(told.at("app_name") == "Game");
  CHECK(told.at("title") == "shop has crashed");
  CHECK(told.at("data").at("last_health_check") == "2026-01-31T12:00:00.000Z");
  CHECK_FALSE(told.at("data").contains("served_domain"));
}

TEST_CASE("the largest message keeps each channel's limits") {
  // Every character is escaped, or has two units of UTF-16.
  for (const std::string& one : {std::string("@"), std::string("<"), std::string("🎲")}) {
    CAPTURE(one);
    std::string words;
    for (int i = 0; i < 3000; ++i) words += one;
    std::vector<alerts::Event> events;
    for (int i = 0; i < alerts::max_told; ++i) {
      events.push_back(crash(words, words));
      events.back().app_name = words.substr(0, 80 * one.size());
    }
    const json discord = body_of(message(Channel::discord, events, 90));
    size_t total = 0;
    const auto units = [](const json& text) { return alerts::utf16_units(text); };
    CHECK(units(discord.at("content")) <= alerts::max_discord_content);
    CHECK(discord.at("embeds").size() <= alerts::max_discord_embeds);
    for (const json& embed : discord.at("embeds")) {
      CHECK(units(embed.at("title")) <= alerts::max_discord_title);
      CHECK(units(embed.at("description")) <= alerts::max_discord_description);
      total += units(embed.at("title")) + units(embed.at("description")) +
               units(embed.at("footer").at("text"));
    }
    CHECK(total <= alerts::max_discord_total);
    const json slack = body_of(message(Channel::slack, events, 90));
    CHECK(slack.at("blocks").size() <= alerts::max_slack_blocks);
    for (const json& block : slack.at("blocks"))
      if (block.contains("text"))
        CHECK(units(block.at("text").at("text")) <= alerts::max_slack_section);
    const json telegram = body_of(message(Channel::telegram, events, 90));
    CHECK(units(telegram.at("text")) <= alerts::max_telegram_text);
    CHECK(characters(alerts::mail_of(message(Channel::mail, events, 90), base).subject) <= 200);
  }
}

TEST_CASE("a mail names the app, links to the console and says how to stop it") {
  const auto mail = alerts::mail_of(message(Channel::mail, {crash(), crash("forum")}, 1), base);
  CHECK(mail.subject == "Game: shop has crashed, and 2 more");
  CHECK_THAT(mail.body, Catch::Contains(base + "/console/deployments/d1") &&
                            Catch::Contains("Game: forum has crashed") &&
                            Catch::Contains("and 1 more") &&
                            Catch::Contains(base + "/console/alerts") &&
                            Catch::Contains("berth alerts delete al1"));
  const auto end =
      alerts::mail_of_end(message(Channel::slack, {crash()}), "it answered with 404", base);
  CHECK(end.subject == "Your alert Team was disabled");
  CHECK_THAT(end.body, Catch::Contains("it answered with 404") && Catch::Contains("slack"));
}
