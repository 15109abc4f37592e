#pragma once

#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The nine scopes of the specification (section "Scopes"), and those that berth adds: deploy:exec,
// the parts of deploy:manage, and the three of OpenID Connect. What they grant and who approves
// them.
namespace berth {

enum class Scope {
  profile_read,
  points_read,
  points_spend,
  points_transfer,
  points_award,
  app_balance_read,
  deploy_manage,
  campaigns_manage,
  campaign_write,
  deploy_exec,
  deploy_read,
  deploy_write,
  logs_read,
  openid,
  profile,
  email,
  admin,  // of personal access tokens alone: no app can have it. It is the last one
};
inline constexpr size_t scope_count = 17;

// `automatic` scopes are those that an app gets unless it asks for others. `user`: each app may ask
// for them, registered or not, and only gets them if it asks, because they say who somebody is.
enum class Approval { automatic, admin, user };
// Operator scopes are only granted if the authorizing user owns the app, so that a player's token
// never gives control over an operator's deployments.
enum class Bearer { anybody, app_owner };

struct ScopeInfo {
  Scope scope;
  std::string_view name;
  std::string_view grants;
  Approval approval;
  Bearer bearer;
};
const ScopeInfo& info(Scope scope);
// All that apps can have. Scope::admin isn't among them.
std::span<const ScopeInfo> all_scopes();
// Returns nothing for a name that isn't one of these.
std::optional<Scope> parse_scope(std::string_view name);

class ScopeSet {
 public:
  ScopeSet() = default;
  ScopeSet(std::initializer_list<Scope> scopes) {
    for (const Scope scope : scopes) add(scope);
  }
  static ScopeSet automatic();
  static ScopeSet identity();   // openid, profile and email (OpenID Connect Core 1.0, section 5.4)
  static ScopeSet operators();  // those that only the app's owner can grant

  void add(Scope scope) { bits_.set(static_cast<size_t>(scope)); }
  bool has(Scope scope) const { return bits_.test(static_cast<size_t>(scope)); }
  // Whether the set has the scope, or one that includes it: deploy:manage includes deploy:read,
  // deploy:write and logs:read.
  bool grants(Scope scope) const { return with_included().has(scope); }
  // The set, and what its scopes include.
  ScopeSet with_included() const;
  // What is left of these scopes where no more than `most` may be used. Unlike `&`, it knows what
  // scopes include: of deploy:manage, deploy:read is left where only that may be used, and
  // deploy:read stays as it is where deploy:manage may be used.
  ScopeSet cut_to(const ScopeSet& most) const;
  // What is left when these scopes are taken away. Unlike `-`, it takes a part of deploy:manage
  // away as well: the other parts stay.
  ScopeSet without(const ScopeSet& lost) const;
  bool empty() const { return bits_.none(); }
  bool within(const ScopeSet& other) const { return (bits_ & ~other.bits_).none(); }
  ScopeSet operator|(const ScopeSet& other) const { return ScopeSet(bits_ | other.bits_); }
  ScopeSet operator&(const ScopeSet& other) const { return ScopeSet(bits_ & other.bits_); }
  ScopeSet operator-(const ScopeSet& other) const { return ScopeSet(bits_ & ~other.bits_); }
  bool operator==(const ScopeSet&) const = default;

  std::vector<std::string_view> names() const;  // in the order of the specification
  std::string text() const;                     // separated by single spaces

 private:
  explicit ScopeSet(std::bitset<scope_count> bits) : bits_(bits) {}
  std::bitset<scope_count> bits_;
};

// Parses names separated by spaces or pluses. Returns nothing if one is unknown or there is none.
std::optional<ScopeSet> parse_scopes(std::string_view text);
std::optional<ScopeSet> parse_scopes(const std::vector<std::string>& names);
// The same for those of a personal access token, which may be `admin`, too.
std::optional<ScopeSet> parse_personal_scopes(const std::vector<std::string>& names);
// Says why parse_scopes() returns nothing for the text: which name isn't a scope's, and which ones
// there are; or that the text has no name.
std::string why_no_scopes(std::string_view text);
// Parses the text in which rows store scopes, which may be empty.
ScopeSet stored_scopes(const std::string& text);

}  // namespace berth
