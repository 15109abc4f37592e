#include "controller/domain/kernel/scopes.h"

#include <algorithm>
#include <array>

#include "controller/base/text.h"

namespace berth {
namespace {

constexpr std::array scope_table = {
    ScopeInfo{Scope::profile_read, "profile:read",
              "user profile and session information; required to serve ads", Approval::automatic,
              Bearer::anybody},
    ScopeInfo{Scope::points_read, "points:read", "user point balance", Approval::automatic,
              Bearer::anybody},
    ScopeInfo{Scope::points_spend, "points:spend",
              "spend user points, crediting the operator account", Approval::admin,
              Bearer::anybody},
    ScopeInfo{Scope::points_transfer, "points:transfer", "transfer points between users",
              Approval::admin, Bearer::anybody},
    ScopeInfo{Scope::points_award, "points:award",
              "deprecated: awarding is admin-only; kept for existing tokens", Approval::admin,
              Bearer::anybody},
    ScopeInfo{Scope::app_balance_read, "app:balance:read", "app point balance", Approval::admin,
              Bearer::anybody},
    ScopeInfo{Scope::deploy_manage, "deploy:manage", "deployments", Approval::admin,
              Bearer::app_owner},
    ScopeInfo{Scope::campaigns_manage, "campaigns:manage",
              "campaign management including the marketplace under /api/v1/ads/", Approval::admin,
              Bearer::app_owner},
    ScopeInfo{Scope::campaign_write, "campaign:write", "campaigns at /api/external/campaigns/*",
              Approval::admin, Bearer::app_owner},
    ScopeInfo{Scope::deploy_exec, "deploy:exec",
              "commands in containers that run, and connections to their ports", Approval::admin,
              Bearer::app_owner},
    ScopeInfo{Scope::openid, "openid", "a login: an ID token with the user's id", Approval::user,
              Bearer::anybody},
    ScopeInfo{Scope::profile, "profile", "username, in ID tokens and at userinfo", Approval::user,
              Bearer::anybody},
    ScopeInfo{Scope::email, "email", "email address, in ID tokens and at userinfo", Approval::user,
              Bearer::anybody},
};
static_assert(scope_table.size() == scope_count);

}  // namespace

const ScopeInfo& info(Scope scope) { return scope_table.at(static_cast<size_t>(scope)); }
std::span<const ScopeInfo> all_scopes() { return scope_table; }

std::optional<Scope> parse_scope(std::string_view name) {
  const auto row = std::ranges::find(scope_table, name, &ScopeInfo::name);
  return row == scope_table.end() ? std::nullopt : std::optional(row->scope);
}

ScopeSet ScopeSet::automatic() {
  ScopeSet set;
  for (const ScopeInfo& row : scope_table)
    if (row.approval == Approval::automatic) set.add(row.scope);
  return set;
}

ScopeSet ScopeSet::identity() {
  ScopeSet set;
  for (const ScopeInfo& row : scope_table)
    if (row.approval == Approval::user) set.add(row.scope);
  return set;
}

ScopeSet ScopeSet::operators() {
  ScopeSet set;
  for (const ScopeInfo& row : scope_table)
    if (row.bearer == Bearer::app_owner) set.add(row.scope);
  return set;
}

std::vector<std::string_view> ScopeSet::names() const {
  std::vector<std::string_view> result;
  for (const ScopeInfo& row : scope_table)
    if (has(row.scope)) result.push_back(row.name);
  return result;
}

std::string ScopeSet::text() const {
  std::string result;
  for (const std::string_view name : names()) result.append(result.empty() ? "" : " ").append(name);
  return result;
}

std::optional<ScopeSet> parse_scopes(std::string_view text) {
  ScopeSet set;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find_first_of(" +", at), text.size());
    if (end > at) {
      const auto scope = parse_scope(text.substr(at, end - at));
      if (!scope) return std::nullopt;
      set.add(*scope);
    }
    at = end + 1;
  }
  return set.empty() ? std::nullopt : std::optional(set);
}

std::string why_no_scopes(std::string_view text) {
  std::string known;
  for (const ScopeInfo& row : scope_table) known.append(known.empty() ? "" : ", ").append(row.name);
  for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find_first_of(" +", at), text.size());
    const std::string_view name = text.substr(at, end - at);
    if (!name.empty() && !parse_scope(name))
      return shown(name) + " isn't a scope; the scopes are " + known;
  }
  return "scope must contain one or more of " + known;
}

std::optional<ScopeSet> parse_scopes(const std::vector<std::string>& names) {
  ScopeSet set;
  for (const std::string& name : names) {
    const auto scope = parse_scope(name);
    if (!scope) return std::nullopt;
    set.add(*scope);
  }
  return set.empty() ? std::nullopt : std::optional(set);
}

ScopeSet stored_scopes(const std::string& text) { return parse_scopes(text).value_or(ScopeSet()); }

}  // namespace berth
