#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/webhooks/alert_texts.h"
#include "controller/domain/webhooks/webhooks.h"

// Alerts: what happened to an operator's apps, told to people by mail or in a chat. The functions
// throw berth::Error.
//
// A trigger (0012_alerts.sql) copies each event into the queue of each alert that wants it, in the
// transaction of the event. Everything that waits for an alert is sent as one message, no sooner
// than `gathered_for` after the event and `pause_after()` after the message before. A message that
// isn't accepted is tried again at growing intervals; an alert whose messages are refused or fail
// for too long is disabled until its owner changes it.
namespace berth::alerts {

enum class Channel { mail, discord, slack, telegram, webhook };
constexpr auto texts_of(Channel) {
  return EnumTexts<Channel::webhook>{"mail", "discord", "slack", "telegram", "webhook"};
}

inline constexpr int max_of_account = 20;
// They all go to the account's own address.
inline constexpr int max_mail_alerts = 3;
inline constexpr size_t max_name_length = 80;  // characters
// The trigger has these three numbers, too.
inline constexpr int max_waiting = 100;  // events of one alert; what comes on top isn't told
// Whoever uses an app can spend points in it as often as they like, so that their spends leave room
// for the troubles that the same alert tells: none is added to so many events.
inline constexpr int max_waiting_with_spends = 50;
inline constexpr Duration gathered_for = std::chrono::seconds(2);
// An event that couldn't be told within this time isn't news any more, and is dropped. It is longer
// than given_up_after and the pause before another attempt, so that one event is enough to find out
// that a receiver takes nothing.
inline constexpr Duration told_within = std::chrono::hours(26);
// An alert is disabled when nothing has arrived for this long, or after so many attempts in a row
// of which the last was refused for good (4xx but 408 and 429), or at once by a 410.
inline constexpr Duration given_up_after = std::chrono::days(1);
inline constexpr int refusals_until_disabled = 5;
// How long an alert is quiet after a message: chats limit the rate of messages, and people read
// mail less often.
constexpr Duration pause_after(Channel channel) {
  return channel == Channel::mail ? Duration(std::chrono::minutes(15))
                                  : Duration(std::chrono::seconds(15));
}

// Where the messages go. Which fields are set depends on the channel; the whole is stored
// encrypted.
struct Target {
  // Of Discord, Slack and a webhook; of Telegram, the server of the bot API.
  std::string url = {};
  std::string bot_token = {};  // Telegram
  std::string chat_id = {};    // Telegram: a number, or @ and the name of a public channel
  std::string secret = {};     // of a webhook: `webhooks::secret_prefix` and a key, made here
};
inline constexpr std::string_view telegram_server = "https://api.telegram.org";
inline constexpr size_t max_bot_token_length = 128;
inline constexpr size_t max_chat_id_length = 64;

struct Alert {
  std::string id;
  std::string owner_id;
  std::optional<std::string> app_id;  // nothing: all apps of the owner
  std::string name;
  Channel channel = Channel::mail;
  // What may be shown of the target: the host of its URL, or the chat. Empty for mail.
  std::string target;
  std::vector<std::string> events;
  std::int64_t waiting = 0;  // events that weren't told yet
  std::optional<Instant> last_sent_at;
  std::optional<std::string> last_error;  // of the last attempt, if that failed
  std::optional<Instant> failing_since;
  std::optional<Instant> disabled_at;
  Instant created_at;
  Instant updated_at;
};
struct AlertWithSecret {
  Alert alert;
  std::optional<std::string> secret;  // of a webhook; shown once
};

struct NewAlert {
  std::string name;
  std::optional<std::string> app_id;  // the caller has checked whose it is
  Channel channel = Channel::mail;
  Target target;
  std::vector<std::string> events;
};
// Needs a serializable write. Throws validation_failed; invalid_state if the account has too many
// alerts. The caller has checked that the account's address is verified.
AlertWithSecret create(db::Tx& tx, const std::string& owner_id, const NewAlert& wanted,
                       webhooks::Schemes schemes, const std::string& data_key);
// Throws alert_not_found.
Alert get(db::Tx& tx, const std::string& owner_id, const std::string& id);
Page<Alert> list(db::Tx& tx, const std::string& owner_id, const PageRequest& page);
// What isn't set stays as it is. An alert that was disabled begins again. A new target of a webhook
// keeps its secret. Throws validation_failed.
struct Change {
  std::optional<std::string> name;
  std::optional<std::optional<std::string>> app_id;
  std::optional<Target> target;
  std::optional<std::vector<std::string>> events;
};
Alert change(db::Tx& tx, const Alert& alert, const Change& change, webhooks::Schemes schemes,
             const std::string& data_key);
// Deletes the alert and what waits for it.
void remove(db::Tx& tx, const Alert& alert);
// The same for all alerts of an account about an app, of which it is no longer an admin.
void remove_of_app(db::Tx& tx, const std::string& owner_id, const std::string& app_id);
// Sends a message of the type `test_type`: at once, except that mail waits for the end of its
// pause. Throws invalid_state while an earlier test waits, and for an alert that is disabled.
Alert test(db::Tx& tx, const Alert& alert);

// ---- For the loop -------------------------------------------------------------------------------

struct Due {
  std::string alert_id;
  std::string owner_id;
};
// The alerts that have something to say now, at most `most`: one of each account, the longest
// waiting first, then the second of each, and so on. So accounts whose messages have to wait,
// because they have their share of those under way, don't keep others from being found.
std::vector<Due> due(db::Tx& tx, int most);

// A message that is about to be sent.
struct Message {
  std::string alert_id;
  std::string alert_name = {};
  std::string owner_id = {};
  Channel channel = Channel::mail;
  Target target = {};
  int attempt = 0;  // from 1, since the last message that arrived
  // Of those that wait, at most max_told, the oldest first, and spends after all others.
  std::vector<Event> events = {};
  int more = 0;                  // how many others wait
  std::int64_t last_number = 0;  // the message tells of all rows up to this one
};
// How many events a message describes. Of the others it says how many they are.
inline constexpr int max_told = 10;

// Counts an attempt and postpones the next one until `retry_at`, before anything is sent. Returns
// nothing if the alert isn't due any more, such as after another process has begun, or has nothing
// to tell, or its target can't be decrypted with this key; in the last case it is disabled.
std::optional<Message> begin(db::Tx& tx, const std::string& data_key, const std::string& alert_id,
                             Instant retry_at);
// How many attempts the alert has made since its last message arrived; 0 if there is none.
int attempts_of(db::Tx& tx, const std::string& alert_id);

// Records what became of the message. `retry_at` counts if it is tried again.
enum class Settled { sent, waits, disabled };
Settled settle(db::Tx& tx, const Message& message, const webhooks::Outcome& outcome,
               Instant retry_at);
// Disables the alert for this reason, and drops what waits for it.
void disable(db::Tx& tx, const std::string& alert_id, const std::string& reason);

}  // namespace berth::alerts
