#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/transport/http.h"
#include "controller/domain/oauth/oauth.h"

namespace berth::api {

// The parameters of an authorization request (RFC 6749, section 4.1.1), as a query or our own form
// brought them.
struct AuthorizationQuestion {
  oauth::AuthorizationRequest request;
  std::optional<std::string> state;
};
// Throws invalid_request where client_id or redirect_uri is there twice: nothing may be sent to
// either then. Another parameter that is there twice is for the domain to refuse.
AuthorizationQuestion authorization_question(const Query& query);

using RedirectParameters = std::vector<std::pair<std::string, std::string>>;

// `uri`, which is one that an app has registered, with the parameters behind its query (RFC 6749,
// section 4.1.2). Everything but unreserved characters is percent-encoded: no value can end the
// parameter, the URI, or the header that it stands in.
std::string redirect_to(std::string_view uri, const RedirectParameters& parameters);

}  // namespace berth::api
