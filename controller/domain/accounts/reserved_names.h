#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Names that nobody may register: usernames that could pass for the platform's own, and subdomains
// that look like a part of the platform or that programs look up on their own (wpad, autoconfig).
// Configuration key `reserved-names`. A user or deployment that already has such a name keeps it.
// Immutable, and so thread-safe.
class ReservedNames {
 public:
  ReservedNames() = default;  // an empty set
  explicit ReservedNames(const std::vector<std::string>& names);

  // Whether the username is reserved, in upper or lower case, or imitates a reserved name of at
  // least min_disguised characters, as "adm1n", "supp.ort" and "adrnin" imitate "admin" and
  // "support".
  bool forbids_username(std::string_view username) const;
  // Whether the label, given in lower case, is reserved.
  bool forbids_subdomain(std::string_view label) const;

  // Shorter names resemble too many ordinary words ("mx", "dns").
  static constexpr size_t min_disguised = 4;

 private:
  std::set<std::string, std::less<>> names_;  // in lower case
  std::set<std::u32string> looks_;
};

}  // namespace berth
