#pragma once

#include <string>
#include <string_view>

// Host names that people bring along. What is registered and what is a public suffix is known from
// the public suffix list (domain/deployments/custom_domains/suffix_list.h).
namespace berth::domain_names {

inline constexpr size_t max_length = 253;       // RFC 1035, section 2.3.4, without the last dot
inline constexpr size_t max_label_length = 63;  // the same

// Lower-case letters, digits and hyphens, with a letter or digit at both ends (RFC 1123, 2.1).
bool is_label(std::string_view text, size_t most);

// In lower case and without a dot at the end: one spelling for each name.
std::string normalised(std::string_view domain);

// Why nobody may bring this (normalised) name along, as the end of a sentence; empty where he may.
// Names with letters beyond ASCII have to come in their xn-- form (RFC 5891): what people see and
// what is asked for then is the same.
std::string refusal(std::string_view domain, std::string_view apps_domain,
                    std::string_view base_host);

// The part that its owner registered: example.co.uk of shop.example.co.uk. The name itself where
// there is none (a single label, a public suffix).
std::string registered(const std::string& domain);
inline bool is_apex(const std::string& domain) { return registered(domain) == domain; }

}  // namespace berth::domain_names
