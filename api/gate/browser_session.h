#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/gate/services.h"
#include "controller/domain/kernel/messages.h"
#include "controller/transport/http.h"

// What berth stores in a browser: the cookie of a session, the cookie that form tokens are bound
// to, and the language that somebody has chosen (language.h).
namespace berth::api {

// The names and attributes of the cookies. With the prefix `__Host-`, browsers send a cookie only
// to the host that set it and only over TLS (RFC 6265bis, section 4.1.3.2). If the base URL is
// http, as in development, the names have no prefix.
class Cookies {
 public:
  explicit Cookies(const std::string& base_url);
  // Return the cookie's value, or an empty text if the browser sent none. All Cookie lines of the
  // request are read; among several cookies of one name the first counts, because browsers send the
  // one with the longest path first (RFC 6265, section 5.4).
  std::string session(const Request& request) const { return value(request, session_name_); }
  // Returns the session cookie's value if there is exactly one, else an empty text. Browsers send
  // several if another site has planted one, and nobody can tell which one that is (RFC 6265bis,
  // section 8.6: weak integrity).
  std::string only_session(const Request& request) const;
  std::string form(const Request& request) const { return value(request, form_name_); }
  // Return values for Set-Cookie. With SameSite=Lax, browsers send the cookies with links and
  // redirects from other sites, but not with their forms.
  std::string set_session(const std::string& jwt, Duration lifetime) const;
  std::string end_session() const;
  std::string set_form(const std::string& id) const;
  // The language isn't a secret, and the console's script reads and sets the cookie, too: it has no
  // prefix in its name and isn't HttpOnly.
  static std::string language(const Request& request);
  std::string set_language(Language language) const;

 private:
  static std::vector<std::string> values(const Request& request, const std::string& name);
  static std::string value(const Request& request, const std::string& name);
  std::string session_name_;
  std::string form_name_;
  std::string attributes_;
  std::string attributes_for_scripts_;
};

// Returns the token of a form. It can only be made with berth's key and is bound to both the
// browser's form cookie and the session, so that an attacker can use neither a cookie that they
// planted nor a token of their own session (OWASP, signed double-submit cookie).
std::string csrf_token(const Keys& keys, const std::string& form_id, const std::string& session_id);
// Whether the request comes from one of berth's own pages, as far as the browser says so (Origin,
// Sec-Fetch-Site). The form's token is checked in addition.
bool is_same_origin(const Request& request);

// Whether the request asks for a WebSocket, as far as its field Upgrade says so.
bool wants_websocket(const Request& request);

// Returns the JWT of the session cookie if one of berth's own pages, such as the console, calls the
// API in the name of the person who is logged in; else an empty text. The cookie alone proves
// nothing, because browsers also send it with requests that other sites cause. So the request also
// needs `Sec-Fetch-Site: same-origin`, which no page can set or change (Fetch Metadata, section
// 2.3), and `Berth-Console: 1`, which a page of another origin could send only if the answer to a
// preflight request allowed it, and a form or a link can't send at all. Apps under apps-domain may
// be of the same site, but never of the same origin. A request with an Authorization field isn't
// the console's.
//
// A page can add no field to the handshake of a WebSocket, and not every browser sends
// Sec-Fetch-Site with it. What counts there is Origin, which all browsers send with it and no page
// can change (RFC 6455, sections 4.1 and 10.2). The field Upgrade, by which such a request is
// known, can't be sent by fetch(), a form or a link.
std::string console_jwt(const Request& request, const std::string& base_url);

}  // namespace berth::api
