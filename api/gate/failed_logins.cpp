#include "api/gate/failed_logins.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/audit.h"

namespace berth::api {
namespace {

// Returns an empty text for an event that has no entry.
std::string_view action_of(SecurityKind kind) {
  if (kind == SecurityKind::login_failed) return "login.failed";
  if (kind == SecurityKind::login_throttled) return "login.throttled";
  if (kind == SecurityKind::second_factor_failed) return "second_factor.failed";
  return "";
}

// The entries of one action within limits_for.
struct Written {
  int all = 0;
  std::map<std::string, int> of_account = {};
  std::map<std::string, int> of_network = {};
  std::map<std::pair<std::string, std::string>, Instant> last = {};  // by account and network

  void add(const std::string& user_id, const std::string& network, Instant at) {
    ++all;
    ++of_account[user_id];
    ++of_network[network];
    Instant& last_at = last.try_emplace({user_id, network}, at).first->second;
    last_at = std::max(last_at, at);
  }
  bool has_room(const std::string& user_id, const std::string& network, Instant now) const {
    const auto count = [](const std::map<std::string, int>& counts, const std::string& key) {
      const auto found = counts.find(key);
      return found == counts.end() ? 0 : found->second;
    };
    const auto before = last.find({user_id, network});
    return all < FailedLogins::entries_of_all &&
           count(of_account, user_id) < FailedLogins::entries_of_account &&
           count(of_network, network) < FailedLogins::entries_of_network &&
           (before == last.end() || now - before->second >= FailedLogins::once_in);
  }
};

Written written(db::Tx& tx, std::string_view action) {
  Written result;
  const audit::Filter filter = {.action = std::string(action),
                                .from = tx.now() - FailedLogins::limits_for};
  for (const audit::Entry& entry :
       audit::read(tx, filter, "", FailedLogins::entries_of_all).entries)
    result.add(entry.user_id.value_or(""), entry.network.value_or(""), entry.at);
  return result;
}

}  // namespace

void FailedLogins::note(const SecurityEvent& event, const std::string& network,
                        std::string_view operation, std::string_view request_id) {
  const std::string_view action = action_of(event.kind);
  if (action.empty() || event.user_id.empty()) return;
  const std::lock_guard lock(mutex_);
  if (noted_.size() >= most_noted) return;
  noted_.try_emplace({action, event.user_id, network},
                     Attempt{.reason = std::string(event.reason),
                             .operation = std::string(operation),
                             .request_id = std::string(request_id)});
}

FailedLogins::Noted FailedLogins::due(db::Tx& tx, const Noted& noted) {
  Noted result;
  std::map<std::string_view, Written> of_actions;
  for (const auto& [key, attempt] : noted) {
    const auto& [action, user_id, network] = key;
    const auto [found, is_new] = of_actions.try_emplace(action);
    if (is_new) found->second = written(tx, action);
    // An account that was deleted meanwhile gets no new entry with a network.
    if (!found->second.has_room(user_id, network, tx.now()) || !accounts::find(tx, user_id))
      continue;
    found->second.add(user_id, network, tx.now());
    result.emplace(key, attempt);
  }
  return result;
}

int FailedLogins::write(db::Database& database) {
  Noted noted;
  {
    const std::lock_guard lock(mutex_);
    noted = noted_;
  }
  if (noted.empty()) return 0;
  // In a read, because most of what a flood notes needs no entry, and a write holds up others.
  const Noted entries = database.read([&](db::Tx& tx) { return due(tx, noted); });
  if (!entries.empty())
    database.write([&](db::Tx& tx) {
      for (const auto& [key, attempt] : entries) {
        const auto& [action, user_id, network] = key;
        const Requester who = {.actor = "anonymous",
                               .user_id = user_id,
                               .network = network,
                               .request_id = attempt.request_id,
                               .operation = attempt.operation};
        audit::record_for(tx, who, action, user_id,
                          nlohmann::json{{"reason", attempt.reason}}.dump());
      }
    });
  const std::lock_guard lock(mutex_);
  for (const auto& [key, attempt] : noted) noted_.erase(key);
  return int(entries.size());
}

}  // namespace berth::api
