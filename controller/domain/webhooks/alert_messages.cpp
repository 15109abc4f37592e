#include "controller/domain/webhooks/alert_messages.h"

#include <algorithm>

#include "controller/base/text.h"
#include "controller/base/visible_text.h"

namespace berth::alerts {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* no_width = "\u200b";  // ZERO WIDTH SPACE
constexpr const char* alerts_path = "/console/alerts";
constexpr size_t max_subject = 200;
// Embeds' colours: red, yellow and blue.
constexpr int colour_of(Weight weight) {
  switch (weight) {
    case Weight::bad:
      return 0xd93025;
    case Weight::warning:
      return 0xf9ab00;
    case Weight::info:
      break;
  }
  return 0x1a73e8;
}

// The longest beginning of the text whose escaped form has at most `most` units.
template <typename Escape>
std::string fitted(const std::string& text, size_t most, Escape&& escape) {
  std::string whole = escape(text);
  for (size_t length = characters(text); utf16_units(whole) > most && length > 1;) {
    length = length * 3 / 4;
    whole = escape(shortened(text, length));
  }
  return whole;
}

std::string as_it_is(const std::string& text) { return text; }

std::string name_of(const Event& event) {
  return shortened(without_controls(event.app_name), max_name_length);
}

// The app and what happened to it, in one line.
std::string headline(const Event& event) {
  const std::string title = text_of(event).title;
  return event.app_name.empty() ? title : name_of(event) + ": " + title;
}

std::string and_more(const Message& message, int beside) {
  const int others = int(message.events.size()) - beside + message.more;
  return others <= 0 ? "" : "and " + std::to_string(others) + " more";
}

// The first headline, and how many events there are beside it.
std::string summary(const Message& message) {
  const std::string more = and_more(message, 1);
  return headline(message.events.front()) + (more.empty() ? "" : ", " + more);
}

std::string dumped(const ordered_json& body) {
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

ordered_json discord(const Message& message, const std::string& base_url) {
  ordered_json embeds = ordered_json::array();
  for (const Event& event : message.events) {
    const Text text = text_of(event);
    ordered_json embed = {{"title", fitted(text.title, max_discord_title, escaped_for_discord)},
                          {"url", base_url + text.path},
                          {"color", colour_of(text.weight)},
                          {"timestamp", to_iso8601(event.at)}};
    if (!text.detail.empty())
      embed["description"] = fitted(text.detail, max_discord_description, escaped_for_discord);
    // A footer is shown as plain text.
    if (!event.app_name.empty())
      embed["footer"] = {{"text", fitted(name_of(event), max_discord_footer, without_mentions)}};
    embeds.push_back(std::move(embed));
  }
  return {{"content", fitted(summary(message), max_discord_content, escaped_for_discord)},
          {"embeds", std::move(embeds)},
          {"allowed_mentions", {{"parse", ordered_json::array()}}}};
}

ordered_json section(const std::string& text) {
  return {{"type", "section"},
          {"text",
           {{"type", "plain_text"},
            {"text", fitted(text, max_slack_section, escaped_for_slack)},
            {"emoji", false}}}};
}

ordered_json slack(const Message& message, const std::string& base_url) {
  ordered_json blocks = ordered_json::array();
  for (const Event& event : message.events) {
    const Text text = text_of(event);
    blocks.push_back(section(headline(event) + (text.detail.empty() ? "" : "\n" + text.detail)));
    const std::string link = "<" + escaped_for_slack(base_url + text.path) + "|Open the console>";
    blocks.push_back({{"type", "context"},
                      {"elements", ordered_json::array({{{"type", "mrkdwn"}, {"text", link}}})}});
  }
  if (const std::string more = and_more(message, int(message.events.size())); !more.empty())
    blocks.push_back(section(more));
  return {{"text", fitted(summary(message), max_slack_section, escaped_for_slack)},
          {"blocks", std::move(blocks)}};
}

// The events one below the other. Of each detail, `detail_length` characters are left at most.
std::string listed(const Message& message, const std::string& base_url, size_t detail_length) {
  std::string list;
  for (const Event& event : message.events) {
    const Text text = text_of(event);
    if (!list.empty()) list += "\n\n";
    list += headline(event);
    if (!text.detail.empty() && detail_length > 0)
      list += "\n" + shortened(text.detail, detail_length);
    list += "\n" + base_url + text.path;
  }
  if (const std::string more = and_more(message, int(message.events.size())); !more.empty())
    list += "\n\n" + more;
  return list;
}

ordered_json telegram(const Message& message, const std::string& base_url) {
  std::string text;
  for (const size_t detail_length : {max_detail, size_t(100), size_t(0)}) {
    text = without_mentions(listed(message, base_url, detail_length));
    if (utf16_units(text) <= max_telegram_text) break;
  }
  return {{"chat_id", message.target.chat_id},
          {"text", fitted(text, max_telegram_text, as_it_is)},
          {"link_preview_options", {{"is_disabled", true}}}};
}

// What webhooks get of the event's data (reconcilers/loops/webhooks.cpp).
json data_for_programs(const Event& event) {
  json data = event.data;
  if (!data.is_object()) return data;
  data.erase("served_domain");
  const auto checked = data.find("last_health_check");
  if (checked != data.end() && checked->is_number_integer())
    *checked = to_iso8601(from_millis(checked->get<std::int64_t>()));
  return data;
}

ordered_json webhook(const Message& message, const std::string& base_url) {
  ordered_json events = ordered_json::array();
  for (const Event& event : message.events) {
    const Text text = text_of(event);
    const auto or_null = [](const std::string& value) {
      return value.empty() ? ordered_json(nullptr) : ordered_json(value);
    };
    events.push_back({{"id", event.id},
                      {"type", event.type},
                      {"created_at", to_iso8601(event.at)},
                      {"app_id", or_null(event.app_id)},
                      {"app_name", or_null(event.app_name)},
                      {"title", text.title},
                      {"detail", text.detail},
                      {"url", base_url + text.path},
                      {"data", data_for_programs(event)}});
  }
  return {{"id", webhook_id(message)},
          {"type", "alert"},
          {"created_at", to_iso8601(message.events.back().at)},
          {"data",
           {{"alert_id", message.alert_id},
            {"name", message.alert_name},
            {"events", std::move(events)},
            {"more", message.more}}}};
}

}  // namespace

size_t utf16_units(const std::string& utf8) {
  return characters(utf8) + size_t(std::ranges::count_if(utf8, [](char c) {
           return static_cast<unsigned char>(c) >= 0xf0;  // the first of four bytes
         }));
}

std::string escaped_for_discord(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\*_~`|>#[]()<@:-+.!").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
    if (c == '@') escaped += no_width;
  }
  return escaped;
}

std::string escaped_for_slack(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else
      escaped += c;
  }
  return escaped;
}

std::string without_mentions(const std::string& text) {
  std::string harmless;
  for (const char c : text) {
    harmless += c;
    if (c == '@') harmless += no_width;
  }
  return harmless;
}

std::string webhook_id(const Message& message) { return message.events.back().id; }

Post post_of(const Message& message, const std::string& base_url) {
  switch (message.channel) {
    case Channel::discord:
      return {.url = message.target.url, .body = dumped(discord(message, base_url))};
    case Channel::slack:
      return {.url = message.target.url, .body = dumped(slack(message, base_url))};
    case Channel::telegram:
      return {.url = message.target.url + "/bot" + message.target.bot_token + "/sendMessage",
              .body = dumped(telegram(message, base_url))};
    case Channel::webhook:
    case Channel::mail:
      break;
  }
  return {.url = message.target.url, .body = dumped(webhook(message, base_url))};
}

Mail mail_of(const Message& message, const std::string& base_url) {
  return {.subject = shortened(summary(message), max_subject),
          .body = listed(message, base_url, max_detail) + "\n\n-- \nThis is the alert \"" +
                  message.alert_name + "\". Change or delete it at " + base_url + alerts_path +
                  ", or with `berth alerts delete " + message.alert_id + "`.\n"};
}

Mail mail_of_end(const Message& message, const std::string& reason, const std::string& base_url) {
  return {
      .subject = shortened("Your alert " + message.alert_name + " was disabled", max_subject),
      .body = "The messages of your alert \"" + message.alert_name + "\" to " +
              std::string(to_string(message.channel)) +
              " didn't arrive, so it sends nothing any more. The last attempt failed: " + reason +
              ".\n\nIt begins again when you change it: " + base_url + alerts_path + "\n"};
}

}  // namespace berth::alerts
