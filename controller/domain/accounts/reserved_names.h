#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Names that nobody may register: names of users, apps and avatars that could pass for the
// platform's own, and subdomains that look like a part of the platform or that programs look up on
// their own (wpad, autoconfig). Configuration key `reserved-names`. Whoever already has such a name
// keeps it. Immutable, and so thread-safe.
class ReservedNames {
 public:
  ReservedNames() = default;  // reserves the platform's own name only
  explicit ReservedNames(const std::vector<std::string>& names);

  // Whether a name in UTF-8 could pass for the platform's own. Names are compared by their looks
  // (look_alikes.h: the skeletons of UTS #39, compatibility forms, digits and signs in place of
  // letters), with and without the digits at the ends of words. A name is refused if
  // - it is a reserved name, in upper or lower case, or looks like one of at least min_disguised
  //   characters, whatever is between its letters: "adm1n", "supp.ort", "adrnin", "admin1";
  // - one of its words is `berth`, alone or joined to a reserved or an accompanying word ("team",
  //   "official"): "berth-team", "official.berth", "berthadmin". "Harbour Berths" and "Berthold"
  //   are other words;
  // - all of its words are reserved or accompanying, and at least one is reserved: "admin team".
  bool forbids_name(std::string_view utf8) const;
  // Whether the label, given in lower case, is reserved.
  bool forbids_subdomain(std::string_view label) const;

  // Shorter names resemble too many ordinary words ("mx", "dns").
  static constexpr size_t min_disguised = 4;

 private:
  bool is_own(const std::u32string& look) const;

  std::set<std::string, std::less<>> names_;  // in lower case
  std::set<std::u32string, std::less<>> looks_;
};

// Returns how a person would read the name: one letter for all that look alike, and without what
// separates letters. Two names with the same looks are the same to a reader.
std::u32string looks_of_name(std::string_view utf8);

}  // namespace berth
