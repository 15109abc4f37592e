#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Names that nobody may take: user names under which somebody could speak for the platform, and
// sub-domains that look like a part of it or that programs ask by themselves (wpad, autoconfig).
// Configuration key `reserved-names`. Whoever has such a name already keeps it. Immutable, and so
// thread-safe.
class ReservedNames {
 public:
  ReservedNames() = default;  // reserves nothing
  explicit ReservedNames(const std::vector<std::string>& names);

  // Whether the user name is one of them, in any case of its letters; or looks like one that has
  // `min_disguised` characters or more, as "adm1n", "supp.ort" and "adrnin" do.
  bool forbids_username(std::string_view username) const;
  // Whether the label, in lower case, is one of them.
  bool forbids_subdomain(std::string_view label) const;

  // Shorter ones are too like other words ("mx", "dns").
  static constexpr size_t min_disguised = 4;

 private:
  std::set<std::string, std::less<>> names_;  // in lower case
  std::set<std::u32string> looks_;
};

}  // namespace berth
