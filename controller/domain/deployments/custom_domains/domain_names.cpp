#include "controller/domain/deployments/custom_domains/domain_names.h"

#include <libpsl.h>

#include <algorithm>
#include <cctype>

namespace berth::domain_names {
namespace {

bool is_lower_or_digit(unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_ascii(unsigned char c) { return c < 0x80; }

const psl_ctx_t* suffixes() {
  static const psl_ctx_t* const newest = psl_latest(nullptr);
  return newest != nullptr ? newest : psl_builtin();
}

bool is_host_name(std::string_view domain) {
  if (domain.empty() || domain.size() > max_length || !domain.contains('.')) return false;
  std::string_view label;
  for (size_t at = 0; at <= domain.size(); at += label.size() + 1) {
    label = domain.substr(at, domain.find('.', at) - at);
    if (!is_label(label, max_label_length)) return false;
  }
  // The last label of a name is never a number: what looks like an address is one (RFC 3696, 2).
  return std::ranges::any_of(label, [](unsigned char c) { return std::isalpha(c); });
}

bool is_at_or_below(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) &&
                            host[host.size() - domain.size() - 1] == '.');
}

}  // namespace

bool is_label(std::string_view text, size_t most) {
  return !text.empty() && text.size() <= most && is_lower_or_digit(text.front()) &&
         is_lower_or_digit(text.back()) && std::ranges::all_of(text, [](unsigned char c) {
           return is_lower_or_digit(c) || c == '-';
         });
}

std::string normalised(std::string_view domain) {
  std::string name(domain);
  if (name.ends_with('.')) name.pop_back();
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return name;
}

std::string refusal(std::string_view domain, std::string_view apps_domain,
                    std::string_view base_host) {
  if (!std::ranges::all_of(domain, is_ascii)) return "must be in its xn-- form (punycode)";
  if (!is_host_name(domain))
    return "must be a host name such as shop.example.com: no wildcard, no address, no port";
  if (is_at_or_below(domain, apps_domain) || is_at_or_below(domain, base_host))
    return "must not be a name of this platform";
  if (psl_is_public_suffix(suffixes(), std::string(domain).c_str()) == 1)
    return "is a public suffix, under which others register their names";
  return "";
}

std::string registered(const std::string& domain) {
  const char* found = psl_registrable_domain(suffixes(), domain.c_str());
  return found == nullptr ? domain : found;
}

}  // namespace berth::domain_names
