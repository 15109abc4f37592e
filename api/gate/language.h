#pragma once

#include <chrono>
#include <string_view>

#include "controller/domain/kernel/messages.h"
#include "controller/transport/http.h"

// Which language somebody wants to read. The hosted pages and the console share the choice, which
// is a cookie; it says nothing about who somebody is, and scripts may read it.
namespace berth::api {

inline constexpr std::string_view language_cookie = "berth_language";
inline constexpr std::chrono::seconds language_kept_for = std::chrono::days(365);

// Returns the language that was chosen in the browser, else the best one of Accept-Language, else
// English. A cookie with a language that there isn't counts as none.
Language language_of(const Request& request);

// Only the beginning of the header is read: browsers send some dozens of bytes.
inline constexpr size_t max_accept_language = 1024;
// Returns the language that the header prefers (RFC 9110, section 12.5.4): of those that there are,
// the one with the highest weight and, among equals, the first. English if there is none.
Language preferred_language(std::string_view accept_language);

}  // namespace berth::api
