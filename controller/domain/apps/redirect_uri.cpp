#include <algorithm>
#include <cctype>

#include "controller/base/text.h"
#include "controller/domain/apps/apps.h"

namespace berth::apps {
namespace {

struct Uri {
  std::string scheme;
  std::string authority;  // host and port
  std::string rest;       // from the path on
  bool has_authority = false;
};

std::optional<Uri> split(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  Uri uri;
  uri.scheme = text.substr(0, colon);
  const bool scheme_ok = std::isalpha(static_cast<unsigned char>(uri.scheme[0])) &&
                         std::ranges::all_of(uri.scheme, [](unsigned char c) {
                           return std::isalnum(c) || c == '+' || c == '-' || c == '.';
                         });
  if (!scheme_ok) return std::nullopt;
  uri.rest = text.substr(colon + 1);
  if (uri.rest.starts_with("//")) {
    uri.has_authority = true;
    const size_t end = std::min(uri.rest.find_first_of("/?", 2), uri.rest.size());
    uri.authority = uri.rest.substr(2, end - 2);
    uri.rest.erase(0, end);
  }
  return uri;
}

// "host:port" -> "host"; the brackets of an IPv6 address stay.
std::string host_of(const std::string& authority) {
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  return has_port ? authority.substr(0, colon) : authority;
}

bool has_plain_port(const std::string& authority) {
  const std::string port = authority.substr(host_of(authority).size());
  return port.empty() || is_port(std::string_view(port).substr(1));
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

bool is_printable(unsigned char c) { return c > 0x20 && c < 0x7f; }

}  // namespace

std::optional<std::string> refuse_redirect_uri(const std::string& text) {
  if (text.empty() || text.size() > max_url_length) return "must have 1 to 2048 characters";
  if (!std::ranges::all_of(text, is_printable))
    return "must have no spaces, control or non-ASCII characters";
  if (text.find('\\') != std::string::npos) return "must not have a backslash";
  if (text.find('#') != std::string::npos) return "must not have a fragment";
  const auto uri = split(text);
  if (!uri) return "must be an absolute URI";
  if (uri->authority.find('@') != std::string::npos) return "must not have user information";
  const std::string host = host_of(uri->authority);
  if (!has_plain_port(uri->authority)) return "must have a number from 1 to 65535 as its port";
  if (uri->scheme == "https")
    return host.empty() ? std::optional<std::string>("must name a host") : std::nullopt;
  if (uri->scheme == "http")
    return is_loopback(host) ? std::nullopt
                             : std::optional<std::string>("must be https, but on a loopback host");
  if (uri->scheme.find('.') == std::string::npos)
    return "must be https, http on a loopback host, or a private-use scheme such as "
           "com.example.app";
  return std::nullopt;
}

bool is_registered(const App& app, const std::string& text) {
  if (std::ranges::find(app.redirect_uris, text) != app.redirect_uris.end()) return true;
  const auto uri = split(text);
  if (!uri || uri->scheme != "http" || refuse_redirect_uri(text)) return false;
  const std::string host = host_of(uri->authority);
  if (host != "127.0.0.1" && host != "[::1]") return false;
  return std::ranges::find(app.redirect_uris, "http://" + host + uri->rest) !=
         app.redirect_uris.end();
}

}  // namespace berth::apps
