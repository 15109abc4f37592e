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
    ScopeInfo{Scope::deploy_read, "deploy:read",
              "reading deployments, builds and runs, but not their logs; a part of deploy:manage",
              Approval::admin, Bearer::app_owner},
    ScopeInfo{Scope::deploy_write, "deploy:write",
              "creating, changing and deleting deployments, builds and runs; a part of "
              "deploy:manage",
              Approval::admin, Bearer::app_owner},
    ScopeInfo{Scope::logs_read, "logs:read",
              "the logs of containers, builds and runs; a part of deploy:manage", Approval::admin,
              Bearer::app_owner},
    ScopeInfo{Scope::openid, "openid", "a login: an ID token with the user's id", Approval::user,
              Bearer::anybody},
    ScopeInfo{Scope::profile, "profile", "username, in ID tokens and at userinfo", Approval::user,
              Bearer::anybody},
    ScopeInfo{Scope::email, "email", "email address, in ID tokens and at userinfo", Approval::user,
              Bearer::anybody},
    ScopeInfo{Scope::admin, "admin", "what the admin who made the token may do", Approval::admin,
              Bearer::anybody},
};
static_assert(scope_table.size() == scope_count);
static_assert(scope_table.back().scope == Scope::admin);

template <typename Holds>
ScopeSet scopes_where(Holds&& holds) {
  ScopeSet set;
  for (const ScopeInfo& row : scope_table)
    if (holds(row)) set.add(row.scope);
  return set;
}

}  // namespace

const ScopeInfo& info(Scope scope) { return scope_table.at(static_cast<size_t>(scope)); }
std::span<const ScopeInfo> all_scopes() {
  return std::span(scope_table).first(scope_table.size() - 1);
}

std::optional<Scope> parse_scope(std::string_view name) {
  const auto row = std::ranges::find(all_scopes(), name, &ScopeInfo::name);
  return row == all_scopes().end() ? std::nullopt : std::optional(row->scope);
}

ScopeSet ScopeSet::automatic() {
  static const ScopeSet scopes =
      scopes_where([](const ScopeInfo& row) { return row.approval == Approval::automatic; });
  return scopes;
}

ScopeSet ScopeSet::identity() {
  static const ScopeSet scopes =
      scopes_where([](const ScopeInfo& row) { return row.approval == Approval::user; });
  return scopes;
}

ScopeSet ScopeSet::operators() {
  static const ScopeSet scopes =
      scopes_where([](const ScopeInfo& row) { return row.bearer == Bearer::app_owner; });
  return scopes;
}

namespace {

// What deploy:manage includes. Not deploy:exec: whoever is in a container can read its secrets.
const ScopeSet& parts_of_deploy_manage() {
  static const ScopeSet parts = {Scope::deploy_read, Scope::deploy_write, Scope::logs_read};
  return parts;
}

}  // namespace

ScopeSet ScopeSet::with_included() const {
  return has(Scope::deploy_manage) ? *this | parts_of_deploy_manage() : *this;
}

ScopeSet ScopeSet::cut_to(const ScopeSet& most) const {
  const ScopeSet left = with_included() & most.with_included();
  // What deploy:manage includes is only named beside it if it was named before.
  return left.has(Scope::deploy_manage) ? left - (parts_of_deploy_manage() - *this) : left;
}

ScopeSet ScopeSet::without(const ScopeSet& lost) const {
  const bool loses_part = has(Scope::deploy_manage) && !(lost & parts_of_deploy_manage()).empty();
  return loses_part ? with_included() - lost - ScopeSet{Scope::deploy_manage} : *this - lost;
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

namespace {

// Which names are taken for scopes.
enum class Of { apps, persons };

std::optional<Scope> parse_scope(std::string_view name, Of whom) {
  if (whom == Of::persons && name == info(Scope::admin).name) return Scope::admin;
  return berth::parse_scope(name);
}

std::optional<ScopeSet> parse_text(std::string_view text, Of whom) {
  ScopeSet set;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find_first_of(" +", at), text.size());
    if (end > at) {
      const auto scope = parse_scope(text.substr(at, end - at), whom);
      if (!scope) return std::nullopt;
      set.add(*scope);
    }
    at = end + 1;
  }
  return set.empty() ? std::nullopt : std::optional(set);
}

std::optional<ScopeSet> parse_names(const std::vector<std::string>& names, Of whom) {
  ScopeSet set;
  for (const std::string& name : names) {
    const auto scope = parse_scope(name, whom);
    if (!scope) return std::nullopt;
    set.add(*scope);
  }
  return set.empty() ? std::nullopt : std::optional(set);
}

}  // namespace

std::optional<ScopeSet> parse_scopes(std::string_view text) { return parse_text(text, Of::apps); }

std::string why_no_scopes(std::string_view text) {
  std::string known;
  for (const ScopeInfo& row : all_scopes())
    known.append(known.empty() ? "" : ", ").append(row.name);
  for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find_first_of(" +", at), text.size());
    const std::string_view name = text.substr(at, end - at);
    if (!name.empty() && !parse_scope(name))
      return shown(name) + " isn't a scope; the scopes are " + known;
  }
  return "scope must contain one or more of " + known;
}

std::optional<ScopeSet> parse_scopes(const std::vector<std::string>& names) {
  return parse_names(names, Of::apps);
}

std::optional<ScopeSet> parse_personal_scopes(const std::vector<std::string>& names) {
  return parse_names(names, Of::persons);
}

ScopeSet stored_scopes(const std::string& text) {
  return parse_text(text, Of::persons).value_or(ScopeSet());
}

}  // namespace berth
