#pragma once

#include <string>

#include "controller/domain/webhooks/alerts.h"

// The bodies of alerts' messages for each channel. What users have written is escaped, so that it
// mentions nobody and formats nothing, and everything is cut to the channel's limits.
namespace berth::alerts {

// The limits of the channels, in the units of UTF-16 that they count in.
//
// Discord, "Message Resource" (embed limits): a message has at most 10 embeds, which have 6,000
// characters together; a title has 256.
inline constexpr size_t max_discord_content = 2000;
inline constexpr size_t max_discord_embeds = 10;
inline constexpr size_t max_discord_total = 6000;
inline constexpr size_t max_discord_title = 256;
inline constexpr size_t max_discord_description = 280;
inline constexpr size_t max_discord_footer = 60;
static_assert(max_discord_embeds *
                  (max_discord_title + max_discord_description + max_discord_footer) <=
              max_discord_total);
static_assert(max_told <= int(max_discord_embeds));
// Slack, Block Kit: a message has at most 50 blocks, a section's text 3,000 characters.
inline constexpr size_t max_slack_blocks = 50;
inline constexpr size_t max_slack_section = 3000;
static_assert(2 * max_told + 1 <= int(max_slack_blocks));
// Telegram, Bot API, sendMessage.
inline constexpr size_t max_telegram_text = 4096;

// The units of UTF-16 that a UTF-8 text has.
size_t utf16_units(const std::string& utf8);

// The text so that Discord shows it as it is.
std::string escaped_for_discord(const std::string& text);
// The same for Slack ("Formatting text for app surfaces": &, < and >).
std::string escaped_for_slack(const std::string& text);
// The text with a character of no width after each @, for a channel that has no way to escape it.
std::string without_mentions(const std::string& text);

struct Post {
  std::string url;
  std::string body;  // JSON
};
// The request that sends a message, by POST. Not for mail. `base_url` is berth's own, without a
// slash at its end; links lead to the console there.
Post post_of(const Message& message, const std::string& base_url);
// The id of the message to a webhook. It stays the same when the same events are sent again.
std::string webhook_id(const Message& message);

struct Mail {
  std::string subject;
  std::string body;  // lines end with \n
};
Mail mail_of(const Message& message, const std::string& base_url);
// The mail that says that an alert was disabled, and why.
Mail mail_of_end(const Message& message, const std::string& reason, const std::string& base_url);

}  // namespace berth::alerts
