#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// Whom an app's owner wants to be told, and what waits to be told. Functions throw berth::Error.
//
// An event is a row that commits with what it is about, and each webhook that wants it gets a
// delivery in the same transaction (triggers of 0011_webhooks.sql). What happens to one subject
// (a deployment, a campaign) is delivered in order: nothing overtakes an earlier delivery that
// still waits.
namespace berth::webhooks {

inline constexpr std::array<std::string_view, 8> types = {
    "deployment.status",   "deployment.domain",     "billing.warning",    "billing.failed",
    "billing.reactivated", "scope_request.decided", "campaign.exhausted", "campaign.ended"};
inline constexpr std::string_view test_type = "webhook.test";

inline constexpr int max_per_app = 10;
inline constexpr size_t max_url_length = 2048;
// A receiver that is away for so long has lost what it missed.
inline constexpr Duration given_up_after = std::chrono::days(3);
// Deliveries that are done, for their owner to look at.
inline constexpr Duration done_kept_for = std::chrono::days(3);

struct Webhook {
  std::string id;
  std::string app_id;
  std::string url;
  std::vector<std::string> events;
  Instant created_at;
  Instant updated_at;
};
struct WebhookWithSecret {
  Webhook webhook;
  std::string secret;  // shown once; stored sealed, since it signs
};

enum class Schemes { only_https, http_too };

// Why `url` can't be a receiver's; nothing where it can. What its host resolves to is looked at
// when it is connected to.
std::optional<std::string> refuse_url(const std::string& url, Schemes schemes);

// Throws validation_failed; invalid_state where the app has max_per_app.
WebhookWithSecret create(db::Tx& tx, const std::string& app_id, const std::string& url,
                         const std::vector<std::string>& events, Schemes schemes,
                         const std::string& data_key);
// Throws webhook_not_found.
Webhook get(db::Tx& tx, const std::string& app_id, const std::string& id);
Page<Webhook> list(db::Tx& tx, const std::string& app_id, const PageRequest& page);
// What isn't set stays; so does the secret. What waits goes to the new URL.
struct Change {
  std::optional<std::string> url;
  std::optional<std::vector<std::string>> events;
};
Webhook change(db::Tx& tx, const Webhook& webhook, const Change& change, Schemes schemes);
// A new secret: every attempt from now on is signed with it, also of what waits.
WebhookWithSecret rotate_secret(db::Tx& tx, const Webhook& webhook, const std::string& data_key);
// With everything that waits for it.
void remove(db::Tx& tx, const Webhook& webhook);

// Tells the app's webhooks that want `type`, in order for each `subject`. Once it commits.
void emit(db::Tx& tx, const std::string& app_id, std::string_view type, const std::string& subject,
          const nlohmann::json& data);

struct Delivery {
  std::string id;
  std::string event_id;
  std::string type;
  std::string subject;
  std::string state;  // waiting, delivered, failed
  int attempts = 0;
  std::optional<Instant> next_attempt_at;  // while it waits
  std::optional<Instant> last_attempt_at;
  std::optional<std::int64_t> response_status;  // of the last attempt
  std::optional<std::string> error;             // the same
  Instant created_at;
  std::optional<Instant> done_at;
};
// Newest first.
Page<Delivery> deliveries(db::Tx& tx, const Webhook& webhook, const PageRequest& page);
// An event of type webhook.test to this one alone. Throws invalid_state while the last one waits.
Delivery test(db::Tx& tx, const Webhook& webhook);

// ---- What the loop does -------------------------------------------------------------------------

struct Due {
  std::int64_t id = 0;
  std::string webhook_id;
  std::string owner_id;  // of its app
  std::string subject;
};
struct Shares {
  int of_all = 0;
  int of_owner = 0;
  int of_webhook = 0;
};
// What can be sent now: the first of each subject, at most so many; each owner in turn, of one
// those that wait longest first.
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
// Counts an attempt and puts the subject off until `retry_at`, so that a crash in between counts
// too. Nothing where it doesn't wait any more, or can't be opened with this key: that one has
// failed now.
std::optional<Attempt> begin_attempt(db::Tx& tx, const std::string& data_key, std::int64_t id,
                                     Instant retry_at);
int attempts_of(db::Tx& tx, std::int64_t id);

struct Outcome {
  std::optional<int> status;         // the receiver's
  std::optional<std::string> error;  // set: it wasn't delivered
};
// How it went; an undelivered one waits until `retry_at`, or has failed once it is too old. What
// comes behind a delivered one is due, and where that one was a retry, everything that waits for
// the webhook: its receiver is well again.
enum class Settled { delivered, waits, failed };
Settled settle(db::Tx& tx, const Attempt& attempt, const Outcome& outcome, Instant retry_at);

bool is_anything_old(db::Tx& tx);
int remove_old(db::Tx& tx, int most);  // deliveries that are done, and events that nobody needs

}  // namespace berth::webhooks
