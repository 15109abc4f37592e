#include "controller/domain/apps/roles.h"

namespace berth::apps {

ScopeSet scopes_of(Role role, const ScopeSet& approved) {
  ScopeSet scopes = approved;
  if (!includes(role, Role::developer)) scopes = scopes - ScopeSet{Scope::deploy_exec};
  if (!includes(role, Role::billing)) scopes = scopes - ScopeSet{Scope::campaign_write};
  return scopes;
}

}  // namespace berth::apps
