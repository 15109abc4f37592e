#include "controller/domain/deployments/custom_domains/domain_names.h"

#include <libpsl.h>

#include <algorithm>

#include "controller/base/ascii.h"
#include "controller/base/url.h"
#include "controller/domain/deployments/custom_domains/suffix_list.h"

namespace berth::domain_names {
namespace {

bool is_at_or_below(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) &&
                            host[host.size() - domain.size() - 1] == '.');
}

}  // namespace

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
  if (psl_is_public_suffix(suffix_list::list(), std::string(domain).c_str()) == 1)
    return "is a public suffix, below which others register their names";
  return "";
}

std::string registered(const std::string& domain) {
  const char* found = psl_registrable_domain(suffix_list::list(), domain.c_str());
  return found == nullptr ? domain : found;
}

}  // namespace berth::domain_names
