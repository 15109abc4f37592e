#include "api/gate/browser_session.h"

#include <algorithm>

#include "api/gate/language.h"
#include "controller/base/crypto.h"

namespace berth::api {

Cookies::Cookies(const std::string& base_url) {
  const bool tls = base_url.starts_with("https://");
  const std::string prefix = tls ? "__Host-" : "";
  session_name_ = prefix + "berth_session";
  form_name_ = prefix + "berth_form";
  attributes_for_scripts_ = std::string("; Path=/; SameSite=Lax") + (tls ? "; Secure" : "");
  attributes_ = attributes_for_scripts_ + "; HttpOnly";
}

std::vector<std::string> Cookies::values(const Request& request, const std::string& name) {
  std::vector<std::string> found;
  for (const auto& [field, text] : request.headers) {
    if (!same_name(field, "Cookie")) continue;
    std::string_view rest = text;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(';'), rest.size());
      std::string_view pair = rest.substr(0, end);
      pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
      if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
        found.emplace_back(pair.substr(name.size() + 1));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return found;
}

std::string Cookies::value(const Request& request, const std::string& name) {
  const auto all = values(request, name);
  return all.empty() ? std::string() : all.front();
}

std::string Cookies::only_session(const Request& request) const {
  const auto all = values(request, session_name_);
  return all.size() == 1 ? all.front() : std::string();
}

std::string Cookies::set_session(const std::string& jwt, Duration lifetime) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lifetime).count();
  return session_name_ + "=" + jwt + attributes_ + "; Max-Age=" + std::to_string(seconds);
}

std::string Cookies::end_session() const {
  return session_name_ + "=" + attributes_ + "; Max-Age=0";
}

std::string Cookies::set_form(const std::string& id) const {
  return form_name_ + "=" + id + attributes_;
}

std::string Cookies::language(const Request& request) {
  return value(request, std::string(language_cookie));
}

std::string Cookies::set_language(Language language) const {
  return std::string(language_cookie) + "=" + std::string(to_string(language)) +
         attributes_for_scripts_ + "; Max-Age=" + std::to_string(language_kept_for.count());
}

std::string csrf_token(const Keys& keys, const std::string& form_id,
                       const std::string& session_id) {
  const std::string key = hmac_sha256(keys.data, "forms of the hosted pages");
  return base64url(hmac_sha256(key, form_id + "\n" + session_id));
}

bool is_same_origin(const Request& request) {
  const std::string_view site = request.headers.get("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") return false;
  const auto origin = request.headers.find("Origin");
  if (!origin) return true;
  const size_t scheme = origin->find("://");
  return scheme != std::string_view::npos && origin->substr(scheme + 3) == request.host;
}

bool wants_websocket(const Request& request) {
  return same_name(request.headers.get("Upgrade"), "websocket");
}

std::string console_jwt(const Request& request, const std::string& base_url) {
  const auto is_once = [&](std::string_view name, std::string_view value) {
    return request.headers.count(name) == 1 && request.headers.get(name) == value;
  };
  if (wants_websocket(request)) {
    const bool has_site = request.headers.find("Sec-Fetch-Site").has_value();
    if (has_site && !is_once("Sec-Fetch-Site", "same-origin")) return {};
    const std::string_view scheme = base_url.starts_with("https://") ? "https://" : "";
    if (request.headers.count("Origin") != 1 || !request.headers.get("Origin").starts_with(scheme))
      return {};
    if (request.headers.find("Authorization") || !is_same_origin(request)) return {};
    return Cookies(base_url).only_session(request);
  }
  if (!is_once("Berth-Console", "1") || !is_once("Sec-Fetch-Site", "same-origin")) return {};
  if (request.headers.find("Authorization") || !is_same_origin(request)) return {};
  return Cookies(base_url).only_session(request);
}

}  // namespace berth::api
