#include "controller/domain/accounts/reserved_names.h"

#include "controller/base/ascii.h"
#include "controller/base/look_alikes.h"

namespace berth {
namespace {

// Returns how a person would read the name: one letter for all that look alike, and without
// separators. Usernames are ASCII, in which the pairs "rn" and "vv" also imitate letters.
std::u32string looks_of(std::string_view name) {
  std::u32string letters;
  for (const unsigned char c : name) letters += berth::looks_of(c).letters;
  const auto replace = [&](std::u32string_view pair, char32_t letter) {
    for (size_t at = 0; (at = letters.find(pair, at)) != std::u32string::npos;)
      letters.replace(at, pair.size(), 1, letter);
  };
  replace(U"rn", U'm');
  replace(U"vv", U'w');
  return letters;
}

}  // namespace

ReservedNames::ReservedNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    names_.insert(lower_case(name));
    if (name.size() >= min_disguised) looks_.insert(looks_of(name));
  }
}

bool ReservedNames::forbids_username(std::string_view username) const {
  return names_.contains(lower_case(username)) || looks_.contains(looks_of(username));
}

bool ReservedNames::forbids_subdomain(std::string_view label) const {
  return names_.contains(label);
}

}  // namespace berth
