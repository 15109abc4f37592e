#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/gate/services.h"
#include "api/transport/http.h"

// What a browser holds for us: a session, and the cookie that forms are bound to.
namespace berth::api::pages {

// `__Host-` cookies are for this host alone, over TLS alone (RFC 6265bis, section 4.1.3.2); where
// the base URL is http, which is in development, their names are plain.
class Cookies {
 public:
  explicit Cookies(const std::string& base_url);
  // Empty where the browser sent none. Of several lines each counts, and of several cookies of one
  // name the first: browsers send the one of the longest path first (RFC 6265, section 5.4).
  std::string session(const Request& request) const { return value(request, session_name_); }
  std::string form(const Request& request) const { return value(request, form_name_); }
  // For Set-Cookie. SameSite=Lax: a link, or the redirect of an app, comes with them; a form of
  // another site doesn't.
  std::string set_session(const std::string& jwt, Duration lifetime) const;
  std::string end_session() const;
  std::string set_form(const std::string& id) const;

 private:
  static std::string value(const Request& request, const std::string& name);
  std::string session_name_;
  std::string form_name_;
  std::string attributes_;
};

// The token of a form: nobody can make it without our key, and it is bound to the browser's form
// cookie and to the session, so that neither a cookie that somebody planted nor a token of his own
// session helps (OWASP, signed double-submit cookie).
std::string csrf_token(const Keys& keys, const std::string& form_id, const std::string& session_id);
// Whether the request comes from a page of ours as far as the browser says so (Origin,
// Sec-Fetch-Site); the token is checked beside it.
bool is_same_origin(const Request& request);

}  // namespace berth::api::pages
