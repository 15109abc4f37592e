#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// The webhooks of an app, and the deliveries that wait for them. The functions throw berth::Error.
//
// An event is a row that is committed together with what it is about, and each webhook that
// subscribes to it gets a delivery in the same transaction (triggers in 0011_webhooks.sql). The
// events of one subject (a deployment, a campaign or a spend) are delivered in order: no event
// overtakes an earlier delivery that still waits.
namespace berth::webhooks {

inline constexpr std::array<std::string_view, 18> types = {
    "deployment.status",     "deployment.domain",     "billing.warning",    "billing.failed",
    "billing.reactivated",   "scope_request.decided", "campaign.exhausted", "campaign.ended",
    "points.spent",          "points.refunded",       "refund.requested",   "refund.answered",
    "balance.low",           "budget.reached",        "charge.settled",     "payout",
    "deployment.run_failed", "guest.merged"};
// The event of a spend is only written if somebody wants it (apps::note_spend_wishes()).
inline constexpr std::string_view spend_type = "points.spent";
inline constexpr std::string_view test_type = "webhook.test";

inline constexpr int max_per_app = 10;
inline constexpr size_t max_url_length = 2048;
// A delivery fails for good when it has waited for this long.
inline constexpr Duration given_up_after = std::chrono::days(3);
// How long deliveries that are done are kept, so that the owner can look at them.
inline constexpr Duration done_kept_for = std::chrono::days(3);

struct Webhook {
  std::string id;
  std::string app_id;
  std::string url;
  std::vector<std::string> events;
  Instant created_at;
  Instant updated_at;
  // Set if its receiver has answered with 410: it gets nothing any more, until it is changed.
  std::optional<Instant> ended_at;
};
struct WebhookWithSecret {
  Webhook webhook;
  // `secret_prefix` and a key in base64, as the Standard Webhooks specification says. Shown once;
  // stored encrypted, because berth signs with it.
  std::string secret;
};
inline constexpr std::string_view secret_prefix = "whsec_";
// Returns a new one.
std::string new_secret();

enum class Schemes { only_https, http_too };

// Returns why `url` can't be used for a webhook; nothing if it can. The addresses that its host
// resolves to are checked when a connection is made.
std::optional<std::string> refuse_url(const std::string& url, Schemes schemes);

// Throws validation_failed, also if another webhook of the app has the URL, which would get
// everything twice; throws invalid_state if the app already has max_per_app webhooks.
WebhookWithSecret create(db::Tx& tx, const std::string& app_id, const std::string& url,
                         const std::vector<std::string>& events, Schemes schemes,
                         const std::string& data_key);
// Throws webhook_not_found.
Webhook get(db::Tx& tx, const std::string& app_id, const std::string& id);
Page<Webhook> list(db::Tx& tx, const std::string& app_id, const PageRequest& page);
// Changes a webhook. Fields that aren't set stay as they are, and so does the secret. Waiting
// deliveries go to the new URL. A webhook that has ended gets events again. Throws
// validation_failed like create().
struct Change {
  std::optional<std::string> url;
  std::optional<std::vector<std::string>> events;
};
Webhook change(db::Tx& tx, const Webhook& webhook, const Change& change, Schemes schemes);
// Creates a new secret. Every attempt from now on is signed with it, including those for deliveries
// that wait already.
WebhookWithSecret rotate_secret(db::Tx& tx, const Webhook& webhook, const std::string& data_key);
// Deletes the webhook with all deliveries that wait for it.
void remove(db::Tx& tx, const Webhook& webhook);

// Notifies the app's webhooks that subscribe to `type`, in order for each `subject`, once the
// transaction is committed.
void emit(db::Tx& tx, const std::string& app_id, std::string_view type, const std::string& subject,
          const nlohmann::json& data);

enum class DeliveryState { waiting, delivered, failed };
constexpr auto texts_of(DeliveryState) {
  return EnumTexts<DeliveryState::failed>{"waiting", "delivered", "failed"};
}
struct Delivery {
  std::string id;
  std::string event_id;
  std::string type;
  std::string subject;
  DeliveryState state = DeliveryState::waiting;
  int attempts = 0;
  std::optional<Instant> next_attempt_at;  // set while it waits
  std::optional<Instant> last_attempt_at;
  std::optional<std::int64_t> response_status;  // of the last attempt
  std::optional<std::string> error;             // of the last attempt
  Instant created_at;
  std::optional<Instant> done_at;
};
// The deliveries of the webhook, newest first.
Page<Delivery> deliveries(db::Tx& tx, const Webhook& webhook, const PageRequest& page);
// Sends an event of type webhook.test to this webhook only. Throws invalid_state while an earlier
// test still waits.
Delivery test(db::Tx& tx, const Webhook& webhook);

// ---- For the webhook loop -----------------------------------------------------------------------

struct Due {
  std::int64_t id = 0;
  std::string webhook_id;
  std::string owner_id;  // the owner of the webhook's app
  std::string subject;
};
struct Shares {
  int of_all = 0;
  int of_owner = 0;
  int of_webhook = 0;
};
// Returns the deliveries that can be sent now: the oldest waiting one of each subject, up to the
// limits in `most`, alternating between owners. Among one owner's deliveries, those that have
// waited longest come first.
std::vector<Due> due(db::Tx& tx, const Shares& most);

struct Attempt {
  std::int64_t id = 0;
  std::string delivery_id;
  std::string webhook_id;
  std::string owner_id;
  std::string url;
  std::string secret;
  std::string event_id;
  std::string type;
  nlohmann::json data;
  Instant event_at;
  int number = 0;  // from 1
};
// Counts an attempt and postpones the whole subject until `retry_at`, before the delivery is sent,
// so that an attempt counts even if berthd crashes. Returns nothing if the delivery isn't due, such
// as after another thread or process has begun an attempt, or its secret can't be decrypted with
// this key; in the last case it is marked as failed.
std::optional<Attempt> begin_attempt(db::Tx& tx, const std::string& data_key, std::int64_t id,
                                     Instant retry_at);
// How many attempts the delivery has had; 0 if there is no such delivery.
int attempts_of(db::Tx& tx, std::int64_t id);

struct Outcome {
  std::optional<int> status;         // the receiver's HTTP status
  std::optional<std::string> error;  // set if it wasn't delivered
};
// Records the result of an attempt. A delivery that failed waits until `retry_at`, or fails for
// good once it is too old. After a success the next delivery of the subject is due; if the success
// was a retry, so is everything that waits for the webhook, because its receiver works again.
// Returns `failed` if the webhook was deleted meanwhile. If the receiver says that it is gone
// (410), the webhook ends, and all that waits for it fails.
enum class Settled { delivered, waits, failed, ended };
Settled settle(db::Tx& tx, const Attempt& attempt, const Outcome& outcome, Instant retry_at);

// Whether remove_old() would find anything.
bool is_anything_old(db::Tx& tx);
int remove_old(db::Tx& tx, int most);  // finished deliveries, and events that nobody needs

}  // namespace berth::webhooks
