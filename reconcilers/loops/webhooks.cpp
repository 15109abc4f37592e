#include "reconcilers/loops/webhooks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/base/crypto.h"
#include "controller/base/log.h"

namespace berth::reconcilers {
namespace {

constexpr int deliveries_removed_at_once = 500;  // so that other writers aren't held up

prometheus::Counter& counter(prometheus::Family<prometheus::Counter>& family, const char* outcome) {
  return family.Add({{"outcome", outcome}});
}

prometheus::Family<prometheus::Counter>& family(prometheus::Registry& registry) {
  return prometheus::BuildCounter()
      .Name("berth_webhook_attempts_total")
      .Help("Attempts to deliver to webhooks, by result: delivered, retried or failed for good")
      .Register(registry);
}

std::string unix_seconds(Instant time) {
  return std::to_string(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
}

// The key in a secret. Older secrets are in base64url without padding.
std::string key_of(const std::string& secret) {
  std::string text = secret.substr(webhooks::secret_prefix.size());
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  const auto key = parse_base64(text);
  if (!key) throw std::runtime_error("a webhook's secret isn't base64");
  return *key;
}

void count_down(std::map<std::string, int>& counts, const std::string& key) {
  const auto count = counts.find(key);
  if (--count->second == 0) counts.erase(count);
}

}  // namespace

std::string webhook_body(const webhooks::Attempt& attempt) {
  const nlohmann::ordered_json body = {{"id", attempt.event_id},
                                       {"type", attempt.type},
                                       {"created_at", to_iso8601(attempt.event_at)},
                                       {"data", attempt.data}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string berth_signature(const std::string& secret, const std::string& body, Instant now) {
  const std::string seconds = unix_seconds(now);
  return "t=" + seconds + ",v1=" + hex(hmac_sha256(secret, seconds + "." + body));
}

std::vector<std::string> standard_webhook_headers(const std::string& secret,
                                                  const std::string& event_id,
                                                  const std::string& body, Instant now) {
  const std::string seconds = unix_seconds(now);
  const std::string mac = hmac_sha256(key_of(secret), event_id + "." + seconds + "." + body);
  return {"webhook-id: " + event_id, "webhook-timestamp: " + seconds,
          "webhook-signature: v1," + base64(mac)};
}

WebhookLoop::WebhookLoop(Parts parts, Options options)
    : parts_(std::move(parts)),
      options_(options),
      sender_(parts_.reach, parts_.closed, options.time_limit),
      delivered_(counter(family(*parts_.registry), "delivered")),
      failed_(counter(family(*parts_.registry), "failed")),
      retries_(counter(family(*parts_.registry), "retried")),
      alerts_({.database = parts_.database,
               .clock = parts_.clock,
               .data_key = parts_.data_key,
               .base_url = parts_.base_url,
               .registry = parts_.registry,
               .delay_before = [this](int attempt) { return delay_before(attempt); },
               .time_limit = options.time_limit,
               .longest_asked = options.longest_asked,
               .most_of_owner = options.most_of_owner}) {}

Loop WebhookLoop::loop() {
  return {.name = "webhooks",
          .round = [this](Round& round) { run_once(round); },
          .at_end = true,
          .failure = "a round of the webhook loop failed",
          .level = log::Level::error};
}

void WebhookLoop::wake() {
  if (looked_.exchange(false)) sender_.wake();
}

// Begins by waiting, so that also rounds that fail let the requests under way go on.
void WebhookLoop::run_once(Round& round) {
  if (round.is_stopping()) return finish();
  {
    const std::stop_callback wakes(round.stop_token(), [this] { sender_.wake(); });
    keep(sender_.wait(options_.poll));
  }
  settle();
  if (SteadyClock::now() >= clean_at_) {
    const bool is_clean = clean_up();
    clean_at_ = SteadyClock::now() + (is_clean ? 10 : 1) * options_.poll;
  }
  if (round.is_stopping()) return;
  looked_ = true;
  begin_due();
  alerts_.begin_due(sender_, shares_, room());
}

void WebhookLoop::finish() {
  const auto give_up_at = SteadyClock::now() + options_.last_answers;
  while (sender_.under_way() > 0 && SteadyClock::now() < give_up_at) {
    keep(sender_.wait(std::chrono::milliseconds(100)));
    settle();
  }
}

size_t WebhookLoop::room() const {
  return options_.most_under_way - std::min(options_.most_under_way, sender_.under_way());
}

void WebhookLoop::begin_due() {
  const size_t room = this->room();
  if (room == 0) return;
  const auto due = parts_.database.read([&](db::Tx& tx) {
    return webhooks::due(tx, {.of_all = int(options_.most_under_way),
                              .of_owner = options_.most_of_owner,
                              .of_webhook = options_.most_of_one});
  });
  std::vector<webhooks::Due> chosen;
  std::map<std::int64_t, Shares::Claim> claims;
  std::map<std::string, int> of_one = of_one_;
  std::map<std::string, int> of_owner = of_owner_;
  for (const webhooks::Due& one : due) {
    if (chosen.size() == room) break;
    if (under_way_.contains(one.id) || of_one[one.webhook_id] >= options_.most_of_one ||
        of_owner[one.owner_id] >= options_.most_of_owner)
      continue;
    Shares::Claim claim(shares_, {.account = one.owner_id});
    if (claim.take() != Shares::Taken::yes) continue;
    claims.emplace(one.id, std::move(claim));
    ++of_one[one.webhook_id];
    ++of_owner[one.owner_id];
    chosen.push_back(one);
  }
  if (chosen.empty()) return;
  const auto attempts = parts_.database.write([&](db::Tx& tx) {
    std::vector<webhooks::Attempt> begun;
    for (const webhooks::Due& one : chosen)
      if (auto attempt = begin(tx, one)) begun.push_back(std::move(*attempt));
    return begun;
  });
  for (const webhooks::Attempt& attempt : attempts) {
    ++of_one_[attempt.webhook_id];
    ++of_owner_[attempt.owner_id];
    under_way_.emplace(attempt.id, attempt);
    claims_.insert(claims.extract(attempt.id));
    try {
      sender_.send(request_of(attempt));
    } catch (const std::exception& failure) {
      keep({{.key = attempt.id, .error = failure.what()}});
    }
  }
}

std::optional<webhooks::Attempt> WebhookLoop::begin(db::Tx& tx, const webhooks::Due& due) {
  const int number = webhooks::attempts_of(tx, due.id) + 1;
  // The next attempt is scheduled from the latest time at which this one can end.
  return webhooks::begin_attempt(tx, parts_.data_key, due.id,
                                 tx.now() + options_.time_limit + delay_before(number));
}

WebhookRequest WebhookLoop::request_of(const webhooks::Attempt& attempt) const {
  webhooks::Attempt shown = attempt;
  if (attempt.type == "deployment.status") {
    const nlohmann::json served = shown.data.value("served_domain", nlohmann::json(nullptr));
    shown.data.erase("served_domain");
    const std::string host = served.is_string() ? served.get<std::string>()
                                                : shown.data.value("subdomain", std::string()) +
                                                      "." + parts_.apps_domain;
    shown.data["url"] = parts_.url_of(host);
    nlohmann::json& checked = shown.data["last_health_check"];
    if (checked.is_number_integer()) checked = to_iso8601(from_millis(checked));
  }
  const std::string body = webhook_body(shown);
  const Instant now = parts_.clock.now();
  std::vector<std::string> headers =
      standard_webhook_headers(attempt.secret, attempt.event_id, body, now);
  headers.insert(headers.end(), {"Content-Type: application/json",
                                 "Expect:", "Berth-Delivery: " + attempt.delivery_id,
                                 "Berth-Signature: " + berth_signature(attempt.secret, body, now)});
  return {.key = attempt.id, .url = attempt.url, .headers = std::move(headers), .body = body};
}

void WebhookLoop::keep(std::vector<WebhookAnswer> answers) {
  for (WebhookAnswer& answer : answers)
    (AlertMessages::is_key(answer.key) ? unsettled_alerts_ : unsettled_)
        .push_back(std::move(answer));
}

void WebhookLoop::settle() {
  settle_deliveries();
  if (unsettled_alerts_.empty()) return;
  alerts_.settle(unsettled_alerts_);
  unsettled_alerts_.clear();
}

void WebhookLoop::settle_deliveries() {
  if (unsettled_.empty()) return;
  const auto settled = parts_.database.write([&](db::Tx& tx) {
    std::vector<webhooks::Settled> all;
    for (const WebhookAnswer& answer : unsettled_) {
      const webhooks::Attempt& attempt = under_way_.at(answer.key);
      // A receiver may ask for more time, but not for so much that nothing is tried again.
      const Duration asked = std::min<Duration>(
          answer.retry_after.value_or(std::chrono::seconds(0)), options_.longest_asked);
      all.push_back(webhooks::settle(tx, attempt, {.status = answer.status, .error = answer.error},
                                     tx.now() + std::max(asked, delay_before(attempt.number))));
    }
    return all;
  });
  const std::vector<WebhookAnswer> answers = std::exchange(unsettled_, {});
  for (size_t i = 0; i < answers.size(); ++i) {
    const webhooks::Attempt attempt = under_way_.extract(answers[i].key).mapped();
    count_down(of_one_, attempt.webhook_id);
    count_down(of_owner_, attempt.owner_id);
    claims_.erase(attempt.id);
    note(attempt, answers[i], settled[i]);
  }
}

// Never logs the URL: it may contain something that only its owner should know.
void WebhookLoop::note(const webhooks::Attempt& attempt, const WebhookAnswer& answer,
                       webhooks::Settled settled) {
  const bool well = settled == webhooks::Settled::delivered;
  const bool ended = settled == webhooks::Settled::ended;
  const bool over = ended || settled == webhooks::Settled::failed;
  (well ? delivered_ : over ? failed_ : retries_).Increment();
  log::write(well ? log::Level::debug : log::Level::info,
             well    ? "a webhook was delivered"
             : ended ? "a webhook's receiver says that it is gone, and gets nothing more"
             : over  ? "a webhook couldn't be delivered and has failed for good"
                     : "a webhook couldn't be delivered and will be tried again",
             {{"webhook", attempt.webhook_id},
              {"event", attempt.event_id},
              {"attempt", attempt.number},
              {"error", answer.error.value_or("")}});
}

bool WebhookLoop::clean_up() {
  if (!parts_.database.read(webhooks::is_anything_old)) return true;
  return parts_.database.write([](db::Tx& tx) {
    return webhooks::remove_old(tx, deliveries_removed_at_once);
  }) < deliveries_removed_at_once;
}

// A random time between half and all of first_retry · 2^(attempt-1), which is capped at
// longest_retry.
Duration WebhookLoop::delay_before(int attempt) {
  const int doublings = std::clamp(attempt - 1, 0, 20);
  const auto whole = std::min<std::int64_t>(options_.longest_retry.count(),
                                            options_.first_retry.count() << doublings);
  return Duration(std::uniform_int_distribution<std::int64_t>((whole + 1) / 2, whole)(random_));
}

}  // namespace berth::reconcilers
