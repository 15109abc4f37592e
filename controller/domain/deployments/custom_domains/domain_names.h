#pragma once

#include <optional>
#include <string>
#include <string_view>

// Rules for host names that operators bring along. The public suffix list (suffix_list.h) says
// which part of a name was registered.
namespace berth::domain_names {

// Returns the name in lower case and without a dot at the end, so that each name has one spelling.
std::string normalised(std::string_view domain);

// Returns why nobody may use this normalised name, as the end of a sentence; empty if they may.
// Names with letters beyond ASCII must be given in their xn-- form (RFC 5891), so that the name
// that people see is the one that is looked up. Names for which no public issuer makes a
// certificate are refused too, except below .test and .example.
std::string refusal(std::string_view domain, std::string_view apps_domain,
                    std::string_view base_host);

// Whether a label has hyphens as its third and fourth characters. Such labels are reserved for
// encodings like punycode, which can look like any other name (RFC 5890, section 2.3.1).
bool has_reserved_hyphens(std::string_view label);
// Returns the text that a label of xn-- stands for, in UTF-8. Returns nothing for any other label,
// and if it isn't the only spelling of a text that IDNA 2008 allows (RFC 5891, section 5.4).
std::optional<std::string> unicode_of(const std::string& label);

// Returns the part that was registered, such as example.co.uk for shop.example.co.uk. Returns the
// name itself if it is a single label or a public suffix.
std::string registered(const std::string& domain);
inline bool is_apex(const std::string& domain) { return registered(domain) == domain; }

}  // namespace berth::domain_names
