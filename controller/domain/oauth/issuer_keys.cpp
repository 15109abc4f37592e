#include "controller/domain/oauth/issuer_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/error.h"
#include "controller/base/log.h"

namespace berth::oauth {
namespace {

using nlohmann::json;

Error no_keys(const std::string& why) {
  Error refusal(Code::unavailable, why);
  refusal.retry_after = std::chrono::duration_cast<std::chrono::seconds>(IssuerKeys::longest_wait);
  return refusal;
}

json document(const std::string& text) {
  json read = json::parse(text, nullptr, false);
  if (!read.is_object()) throw std::runtime_error("its answer isn't a JSON object");
  return read;
}

std::string text_member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// OpenID Connect Discovery 1.0, section 4: a slash at the end is left out.
std::string discovery_url(const std::string& issuer) {
  const std::string base = issuer.ends_with('/') ? issuer.substr(0, issuer.size() - 1) : issuer;
  return base + "/.well-known/openid-configuration";
}

}  // namespace

std::vector<jwk::Key> IssuerKeys::fetch(const Issuer& issuer) const {
  std::string uri = issuer.jwks_uri.value_or("");
  if (uri.empty()) {
    const json discovered = document(fetch_(discovery_url(issuer.issuer)));
    // Section 4.3: it has to be the issuer's own.
    if (text_member(discovered, "issuer") != issuer.issuer)
      throw std::runtime_error("its discovery document names another issuer");
    uri = text_member(discovered, "jwks_uri");
    if (const auto why = refuse_issuer_url(uri, schemes_))
      throw std::runtime_error("the jwks_uri of its discovery document " + *why);
  }
  auto keys = jwk::keys_in(document(fetch_(uri)));
  if (!keys || keys->empty()) throw std::runtime_error("it has no keys that can be used");
  return *std::move(keys);
}

// Fetches without the lock, which is held before and after.
void IssuerKeys::refresh(std::unique_lock<std::mutex>& lock, const Issuer& issuer, Known& known) {
  known.is_asked = true;
  known.asked_at = clock_.now();
  lock.unlock();
  std::optional<std::vector<jwk::Key>> keys;
  try {
    keys = fetch(issuer);
  } catch (const std::exception& failure) {
    log::warning("the keys of an issuer of ID tokens couldn't be fetched",
                 {{"issuer", issuer.issuer}, {"error", failure.what()}});
  }
  lock.lock();
  known.is_asked = false;
  if (keys) {
    known.keys = *std::move(keys);
    known.fetched_at = clock_.now();
  }
  fetched_.notify_all();
}

std::optional<jwk::Key> IssuerKeys::find(const Issuer& issuer, const std::string& key_id) {
  const auto deadline = std::chrono::steady_clock::now() + longest_wait;
  Shares::Claim place(places_, Claimant::of_thread());
  std::unique_lock lock(mutex_);
  Known& known = known_[issuer.id + " " + issuer.issuer + " " + issuer.jwks_uri.value_or("")];
  while (true) {
    const Instant now = clock_.now();
    const auto is_within = [now](const std::optional<Instant>& time, Duration span) {
      return time && now - *time < span;
    };
    const auto key = std::ranges::find(known.keys, key_id, &jwk::Key::id);
    const bool is_usable = is_within(known.fetched_at, usable_for);
    const bool was_just_asked = is_within(known.asked_at, least_interval);
    const bool has_key = is_usable && key != known.keys.end();
    if (has_key && (is_within(known.fetched_at, fresh_for) || known.is_asked || was_just_asked))
      return *key;
    if (!known.is_asked && was_just_asked) {
      if (is_usable) return std::nullopt;
      throw no_keys("the issuer of the token doesn't give its keys; try again later");
    }
    if (place.take() != Shares::Taken::yes)
      throw no_keys("too many requests wait for the keys of issuers; try again later");
    if (!known.is_asked)
      refresh(lock, issuer, known);
    else if (fetched_.wait_until(lock, deadline) == std::cv_status::timeout)
      throw no_keys("the issuer of the token doesn't give its keys in time; try again later");
  }
}

}  // namespace berth::oauth
