#pragma once

#include <string>

#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"

// People and apps of benchmarks that need no HTTP to make them.
namespace berth::bench {

// An account with a verified address. Nobody can log in with its password.
inline accounts::User new_user(db::Tx& tx, const Keys& keys, const std::string& name) {
  const auto user = accounts::register_user(tx,
                                            {.email = name + "@example.org",
                                             .username = name,
                                             .password_hash = "no hash",
                                             .referral_code = {}},
                                            {}, keys, "https://api.example.org");
  accounts::mark_verified(tx, user.id);
  return user;
}

// An app that may read profiles.
inline apps::App new_app(db::Tx& tx, const accounts::User& owner, const std::string& redirect_uri) {
  return apps::create(tx, owner.id,
                      {.app_name = "App of " + owner.username,
                       .app_description = "",
                       .logo_url = {},
                       .website_url = {},
                       .redirect_uris = {redirect_uri},
                       .allowed_scopes = {Scope::profile_read}})
      .app;
}

}  // namespace berth::bench
