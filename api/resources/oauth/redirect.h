#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/domain/oauth/oauth.h"
#include "controller/transport/http.h"

namespace berth::api {

// The parameters of an authorization request (RFC 6749, section 4.1.1), from a query or from our
// own form.
struct AuthorizationQuestion {
  oauth::AuthorizationRequest request;
  std::optional<std::string> state;
  // Of OpenID Connect; empty if they are missing.
  std::string login_hint = {};
  std::string ui_locales = {};
  std::string id_token_hint = {};
};
// Throws invalid_request if client_id or redirect_uri occurs twice, because then nothing may be
// sent to the redirect URI. If another parameter occurs twice, the domain refuses it.
AuthorizationQuestion authorization_question(const Query& query);

using RedirectParameters = std::vector<std::pair<std::string, std::string>>;

// Appends the parameters to the query of `uri`, which an app has registered (RFC 6749, section
// 4.1.2). Everything except unreserved characters is percent-encoded, so no value can end the
// parameter, the URI, or the header that it is put into.
std::string redirect_to(std::string_view uri, const RedirectParameters& parameters);

}  // namespace berth::api
