#include "reconcilers/loops/alerts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/base/log.h"
#include "controller/base/visible_text.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/outbox.h"
#include "reconcilers/loops/webhooks.h"

namespace berth::reconcilers {
namespace {

prometheus::Counter& counter(prometheus::Registry& registry, const char* outcome) {
  return prometheus::BuildCounter()
      .Name("berth_alert_messages_total")
      .Help("Messages of alerts, by result: sent, retried, or disabled with the alert")
      .Register(registry)
      .Add({{"outcome", outcome}});
}

constexpr const char* unverified = "the account's address isn't verified";

}  // namespace

AlertMessages::AlertMessages(Parts parts)
    : parts_(std::move(parts)),
      sent_(counter(*parts_.registry, "sent")),
      retried_(counter(*parts_.registry, "retried")),
      disabled_(counter(*parts_.registry, "disabled")) {}

Instant AlertMessages::retry_at(Instant now, int attempt) const {
  return now + parts_.delay_before(attempt);
}

// The next attempt is scheduled from the latest time at which this one can end.
std::optional<alerts::Message> AlertMessages::begin(db::Tx& tx, const std::string& alert_id) const {
  const int attempt = alerts::attempts_of(tx, alert_id) + 1;
  return alerts::begin(tx, parts_.data_key, alert_id,
                       retry_at(tx.now() + parts_.time_limit, attempt));
}

void AlertMessages::put_letter(db::Tx& tx, const std::string& to, const alerts::Mail& mail) const {
  outbox::put(tx, parts_.data_key,
              {.to = to, .subject = without_controls(mail.subject), .body = mail.body});
}

// The mail is committed together with the end of the message.
alerts::Settled AlertMessages::put_mail(db::Tx& tx, const alerts::Message& message) const {
  const auto owner = accounts::find(tx, message.owner_id);
  if (!owner || !owner->email_verified) {
    alerts::disable(tx, message.alert_id, unverified);
    return alerts::Settled::disabled;
  }
  put_letter(tx, owner->email, alerts::mail_of(message, parts_.base_url));
  return alerts::settle(tx, message, {}, tx.now());
}

void AlertMessages::tell_of_end(db::Tx& tx, const alerts::Message& message,
                                const std::string& reason) const {
  const auto owner = accounts::find(tx, message.owner_id);
  if (!owner || !owner->email_verified) return;
  put_letter(tx, owner->email, alerts::mail_of_end(message, reason, parts_.base_url));
}

WebhookRequest AlertMessages::request_of(std::int64_t key, const alerts::Message& message) const {
  alerts::Post post = alerts::post_of(message, parts_.base_url);
  std::vector<std::string> headers = {"Content-Type: application/json", "Expect:"};
  if (message.channel == alerts::Channel::webhook)
    std::ranges::move(standard_webhook_headers(message.target.secret, alerts::webhook_id(message),
                                               post.body, parts_.clock.now()),
                      std::back_inserter(headers));
  return {.key = key,
          .url = std::move(post.url),
          .headers = std::move(headers),
          .body = std::move(post.body)};
}

void AlertMessages::begin_due(WebhookSender& sender, Shares& shares, size_t room) {
  if (!failed_.empty()) settle({});
  if (room == 0) return;
  const auto due =
      parts_.database.read([&](db::Tx& tx) { return alerts::due(tx, int(room + busy_.size())); });
  struct Chosen {
    std::string alert_id;
    Shares::Claim claim;
  };
  std::vector<Chosen> chosen;
  std::map<std::string, int> of_owner = of_owner_;
  for (const alerts::Due& one : due) {
    if (chosen.size() == room) break;
    if (busy_.contains(one.alert_id) || of_owner[one.owner_id] >= parts_.most_of_owner) continue;
    Shares::Claim claim(shares, {.account = one.owner_id});
    if (claim.take() != Shares::Taken::yes) continue;
    ++of_owner[one.owner_id];
    chosen.push_back({one.alert_id, std::move(claim)});
  }
  if (chosen.empty()) return;
  struct Begun {
    std::optional<alerts::Message> message = {};
    std::optional<alerts::Settled> settled = {};  // of a mail
  };
  const std::vector<Begun> begun = parts_.database.write([&](db::Tx& tx) {
    std::vector<Begun> all;
    for (const Chosen& one : chosen) {
      Begun each = {.message = begin(tx, one.alert_id)};
      if (each.message && each.message->channel == alerts::Channel::mail)
        each.settled = put_mail(tx, *each.message);
      all.push_back(std::move(each));
    }
    return all;
  });
  for (size_t i = 0; i < begun.size(); ++i) {
    const auto& message = begun[i].message;
    if (!message) continue;
    if (begun[i].settled) {
      note(*message, *begun[i].settled, unverified);
      continue;
    }
    const std::int64_t key = --last_key_;
    busy_.insert(message->alert_id);
    ++of_owner_[message->owner_id];
    under_way_.emplace(key, UnderWay{*message, std::move(chosen[i].claim)});
    try {
      sender.send(request_of(key, *message));
    } catch (const std::exception& failure) {
      failed_.push_back({.key = key, .error = failure.what()});
    }
  }
}

void AlertMessages::settle(const std::vector<WebhookAnswer>& answers) {
  std::vector<WebhookAnswer> all = failed_;
  all.insert(all.end(), answers.begin(), answers.end());
  if (all.empty()) return;
  const auto settled = parts_.database.write([&](db::Tx& tx) {
    std::vector<alerts::Settled> results;
    for (const WebhookAnswer& answer : all) {
      const alerts::Message& message = under_way_.at(answer.key).message;
      const Duration asked = std::min<Duration>(
          answer.retry_after.value_or(std::chrono::seconds(0)), parts_.longest_asked);
      const Instant again = std::max(tx.now() + asked, retry_at(tx.now(), message.attempt));
      const auto result =
          alerts::settle(tx, message, {.status = answer.status, .error = answer.error}, again);
      // An alert that was deleted meanwhile has no end of which to tell.
      if (result == alerts::Settled::disabled && alerts::attempts_of(tx, message.alert_id) > 0)
        tell_of_end(tx, message, answer.error.value_or(""));
      results.push_back(result);
    }
    return results;
  });
  failed_.clear();
  for (size_t i = 0; i < all.size(); ++i) {
    const UnderWay ended = std::move(under_way_.extract(all[i].key).mapped());
    busy_.erase(ended.message.alert_id);
    const auto count = of_owner_.find(ended.message.owner_id);
    if (--count->second == 0) of_owner_.erase(count);
    note(ended.message, settled[i], all[i].error.value_or(""));
  }
}

// Never logs the target, which is a secret.
void AlertMessages::note(const alerts::Message& message, alerts::Settled settled,
                         const std::string& error) {
  const bool well = settled == alerts::Settled::sent;
  const bool over = settled == alerts::Settled::disabled;
  (well ? sent_ : over ? disabled_ : retried_).Increment();
  log::write(well ? log::Level::debug : log::Level::info,
             well   ? "an alert's message was sent"
             : over ? "an alert was disabled, because its messages don't arrive"
                    : "an alert's message couldn't be sent and will be tried again",
             {{"alert", message.alert_id},
              {"channel", std::string(to_string(message.channel))},
              {"attempt", message.attempt},
              {"error", well ? "" : error}});
}

}  // namespace berth::reconcilers
