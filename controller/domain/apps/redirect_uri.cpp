#include <algorithm>
#include <array>
#include <cctype>

#include "controller/base/ascii.h"
#include "controller/base/url.h"
#include "controller/domain/apps/apps.h"

namespace berth::apps {
namespace {

bool is_printable(unsigned char c) { return c > 0x20 && c < 0x7f; }

bool is_scheme(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::ranges::all_of(text, [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.');
         });
}

// Schemes, in lower case, that browsers and operating systems act on by themselves, and those of
// protocols: an app on a device can't have one of these to itself.
constexpr std::array<std::string_view, 62> schemes_of_others = {
    "about",    "acct",        "afp",    "android-app", "blob", "cap",  "chrome",     "cid",
    "content",  "data",        "dav",    "dict",        "dns",  "edge", "facetime",   "feed",
    "file",     "filesystem",  "ftp",    "ftps",        "geo",  "git",  "gopher",     "http",
    "https",    "imap",        "intent", "ipp",         "irc",  "jar",  "javascript", "ldap",
    "ldaps",    "magnet",      "mailto", "market",      "mid",  "mms",  "news",       "nfs",
    "nntp",     "opera",       "pop",    "resource",    "rtsp", "sftp", "shell",      "sip",
    "sips",     "sms",         "smsto",  "smb",         "ssh",  "tel",  "telnet",     "urn",
    "vbscript", "view-source", "webcal", "ws",          "wss",  "xmpp"};
// Schemes that begin like this are refused for the same reason.
constexpr std::array<std::string_view, 6> families_of_others = {"ms-",     "x-apple", "itms",
                                                                "chrome-", "moz-",    "search-ms"};

bool is_of_others(std::string_view scheme) {
  const std::string name = lower_case(scheme);
  return name.size() < 2 ||  // the letter of a drive of Windows
         std::ranges::find(schemes_of_others, name) != schemes_of_others.end() ||
         std::ranges::any_of(families_of_others,
                             [&](std::string_view family) { return name.starts_with(family); });
}

bool has_dot(std::string_view scheme) { return scheme.find('.') != std::string_view::npos; }

// The only hosts that may use http: the loopback addresses of RFC 8252, section 7.3, and
// "localhost". is_loopback() also knows names and addresses that aren't allowed here.
bool may_be_http(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

// The parameters that the answer to an authorization request adds (RFC 6749, section 4.1.2; RFC
// 9207). An app would read another one of the same name first.
constexpr std::array<std::string_view, 6> answer_parameters = {
    "code", "state", "error", "error_description", "error_uri", "iss"};

std::optional<std::string> answer_parameter_in(std::string_view uri) {
  const size_t mark = uri.find('?');
  if (mark == std::string_view::npos) return std::nullopt;
  for (size_t at = mark + 1, end = 0; at < uri.size(); at = end + 1) {
    end = std::min(uri.find('&', at), uri.size());
    const std::string_view parameter = uri.substr(at, end - at);
    const auto name = percent_decode(parameter.substr(0, parameter.find('=')), Plus::is_blank);
    if (name && std::ranges::find(answer_parameters, *name) != answer_parameters.end())
      return *name;
  }
  return std::nullopt;
}

// Checks an http or https URI.
std::optional<std::string> refuse_web_uri(const std::string& text) {
  const auto url = parse_url(text);
  if (!url)
    return "must have a host of letters, digits, hyphens and dots, or an address; a port, if any, "
           "must be from 1 to 65535";
  if (url->has_user()) return "must not contain user information";
  if (url->scheme == "http" && !may_be_http(url->host))
    return "must be https, except on a loopback host";
  return std::nullopt;
}

// Checks what follows the colon in a URI with a private-use scheme, which must not name a network
// host.
std::optional<std::string> refuse_private_uri(std::string_view scheme, std::string_view rest) {
  // localhost:3000/callback is a host and its port, written without the http:// in front.
  if (!has_dot(scheme) && !rest.starts_with('/'))
    return "must begin with https://, http:// or a scheme such as com.example.app:/";
  const std::string_view authority =
      rest.starts_with("//") ? rest.substr(2, rest.find_first_of("/?", 2) - 2) : "";
  if (authority.find('@') != std::string_view::npos) return "must not contain user information";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refuse_redirect_uri(const std::string& text) {
  if (text.empty() || text.size() > max_url_length) return "must have 1 to 2048 characters";
  if (!std::ranges::all_of(text, is_printable))
    return "must not contain spaces, control characters or non-ASCII characters; a host name with "
           "such characters is written in its xn-- form";
  if (text.find('\\') != std::string::npos) return "must not contain a backslash";
  if (text.find('#') != std::string::npos) return "must not contain a fragment";
  const size_t colon = text.find(':');
  const std::string_view scheme = std::string_view(text).substr(0, colon);
  if (colon == std::string::npos || !is_scheme(scheme)) return "must be an absolute URI";
  if (const auto taken = answer_parameter_in(text))
    return "must not have the parameter " + *taken + ", which the authorization server adds";
  if (scheme == "https" || scheme == "http") return refuse_web_uri(text);
  if (is_private_use_scheme(scheme))
    return refuse_private_uri(scheme, std::string_view(text).substr(colon + 1));
  return "must be https, http on a loopback host, or a private-use scheme such as com.example.app";
}

bool is_private_use_scheme(std::string_view scheme) {
  return is_scheme(scheme) && !is_of_others(scheme);
}

std::optional<std::string> warn_of_redirect_uri(const std::string& uri) {
  const std::string scheme = uri.substr(0, uri.find(':'));
  if (!is_private_use_scheme(scheme) || has_dot(scheme)) return std::nullopt;
  return uri + ": another app on a device may take the scheme " + scheme +
         " as well; one made of a domain that is yours, in reverse, such as com.example.app, is "
         "safer (RFC 8252, section 7.1)";
}

bool is_registered(const App& app, const std::string& text) {
  // A URI that was registered under older rules is refused, too.
  if (refuse_redirect_uri(text)) return false;
  if (std::ranges::find(app.redirect_uris, text) != app.redirect_uris.end()) return true;
  const auto url = parse_url(text);
  if (!url || url->scheme != "http" || !may_be_http(url->host)) return false;
  return std::ranges::find(app.redirect_uris, "http://" + url->host + url->rest) !=
         app.redirect_uris.end();
}

}  // namespace berth::apps
