#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/base/error.h"
#include "controller/db/database.h"

// What an app sets for logins with OpenID Connect. The names are those of the client metadata of
// OpenID Connect Dynamic Client Registration 1.0, RP-Initiated Logout 1.0 and Back-Channel Logout
// 1.0.
namespace berth::apps {

// How ID tokens are signed (RFC 7518, section 3.3; RFC 8037, section 3.1).
enum class IdTokenAlg { rs256, eddsa };
constexpr auto texts_of(IdTokenAlg) { return EnumTexts<IdTokenAlg::eddsa>{"RS256", "EdDSA"}; }

inline constexpr size_t max_post_logout_redirect_uris = 10;

struct OpenIdSettings {
  // RS256 is what every client must support (OpenID Connect Core 1.0, section 15.1).
  IdTokenAlg id_token_alg = IdTokenAlg::rs256;
  std::vector<std::string> post_logout_redirect_uris = {};
  std::optional<std::string> backchannel_logout_uri = {};
  bool operator==(const OpenIdSettings&) const = default;
};

// Adds to `wrong` what is wrong with the settings. The address that the host of
// backchannel_logout_uri resolves to is checked when a connection is made.
void check_openid(const OpenIdSettings& settings, Details& wrong);

// Returns the app's settings; the defaults if it has set nothing.
OpenIdSettings openid_settings(db::Tx& tx, const std::string& app_id);
// Replaces them. They must have passed check_openid().
void store_openid_settings(db::Tx& tx, const std::string& app_id, const OpenIdSettings& settings);

}  // namespace berth::apps
