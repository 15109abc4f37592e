#include "controller/domain/deployments/custom_domains/domain_names.h"

#include <idn2.h>
#include <libpsl.h>

#include <algorithm>
#include <array>
#include <memory>

#include "controller/base/ascii.h"
#include "controller/base/url.h"
#include "controller/domain/deployments/custom_domains/suffix_list.h"

namespace berth::domain_names {
namespace {

bool is_at_or_below(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) &&
                            host[host.size() - domain.size() - 1] == '.');
}

using IdnText = std::unique_ptr<char, decltype(&idn2_free)>;

// Certificates may have no label with these hyphens but those of IDNA (CA/Browser Forum, Baseline
// Requirements, section 3.2.2.4).
bool is_issuable(const std::string& label) {
  return !has_reserved_hyphens(label) || unicode_of(label).has_value();
}

bool has_issuable_labels(const std::string& domain) {
  for (size_t at = 0; at <= domain.size();) {
    const size_t dot = std::min(domain.find('.', at), domain.size());
    if (!is_issuable(domain.substr(at, dot - at))) return false;
    at = dot + 1;
  }
  return true;
}

// Top-level domains that are in the list of public suffixes without anybody registering names for
// hosts below them (RFC 3172, RFC 7686).
constexpr std::array not_for_hosts = std::to_array<std::string_view>({"arpa", "onion"});
// Top-level domains that the list doesn't have and that an issuer in a test serves (RFC 6761).
constexpr std::array for_tests = std::to_array<std::string_view>({"test", "example"});

// Whether the name is below a top-level domain of the public DNS. Names such as printer.local and
// db.internal mean something else in each network, so nobody can prove that they have one.
bool is_in_public_dns(const std::string& domain) {
  const std::string top = domain.substr(domain.rfind('.') + 1);
  if (std::ranges::find(for_tests, top) != for_tests.end()) return true;
  return std::ranges::find(not_for_hosts, top) == not_for_hosts.end() &&
         psl_is_public_suffix2(suffix_list::list(), top.c_str(),
                               PSL_TYPE_ICANN | PSL_TYPE_NO_STAR_RULE) == 1;
}

}  // namespace

bool has_reserved_hyphens(std::string_view label) {
  constexpr size_t third = 2;
  return label.size() >= third + 2 && label.substr(third, 2) == "--";
}

std::optional<std::string> unicode_of(const std::string& label) {
  if (!label.starts_with("xn--")) return std::nullopt;
  char* decoded = nullptr;
  if (idn2_to_unicode_8z8z(label.c_str(), &decoded, IDN2_NONTRANSITIONAL) != IDN2_OK)
    return std::nullopt;
  const IdnText unicode(decoded, idn2_free);
  char* encoded = nullptr;
  if (idn2_to_ascii_8z(decoded, &encoded, IDN2_NONTRANSITIONAL) != IDN2_OK) return std::nullopt;
  const IdnText ascii(encoded, idn2_free);
  if (label != encoded || is_ascii(decoded)) return std::nullopt;
  return std::string(decoded);
}

std::string normalised(std::string_view domain) {
  if (domain.ends_with('.')) domain.remove_suffix(1);
  return lower_case(domain);
}

std::string refusal(std::string_view domain, std::string_view apps_domain,
                    std::string_view base_host) {
  if (!is_ascii(domain)) return "must be in its xn-- form (punycode)";
  if (!domain.contains('.') || !is_host_name(domain))
    return "must be a host name such as shop.example.com, without a wildcard or port, and not an "
           "address";
  if (is_at_or_below(domain, apps_domain) || is_at_or_below(domain, base_host))
    return "must not be a name of the platform";
  if (!has_issuable_labels(std::string(domain)))
    return "has a part for which no certificate is issued: two hyphens as third and fourth "
           "characters are only for valid punycode (xn--)";
  if (!is_in_public_dns(std::string(domain)))
    return "isn't below a top-level domain of the public DNS, so that no certificate is issued for "
           "it";
  if (psl_is_public_suffix(suffix_list::list(), std::string(domain).c_str()) == 1)
    return "is a public suffix, below which others register their names";
  return "";
}

std::string registered(const std::string& domain) {
  const char* found = psl_registrable_domain(suffix_list::list(), domain.c_str());
  return found == nullptr ? domain : found;
}

}  // namespace berth::domain_names
