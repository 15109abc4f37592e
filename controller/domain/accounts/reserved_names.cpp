#include "controller/domain/accounts/reserved_names.h"

#include <algorithm>
#include <array>

#include "controller/base/ascii.h"
#include "controller/base/look_alikes.h"
#include "controller/base/visible_text.h"

namespace berth {
namespace {

constexpr std::string_view own_name = "berth";
// Words that don't change what a reserved name means, and that aren't reserved by themselves.
constexpr std::array companions = {"app",      "apps",    "bot",  "cli",      "client",
                                   "cloud",    "desk",    "hq",   "official", "online",
                                   "platform", "service", "team", "the",      "web"};

using Kind = Looks::Kind;

// "rn" and "vv" also imitate letters.
std::u32string with_pairs_joined(std::u32string letters) {
  const auto replace = [&](std::u32string_view pair, char32_t letter) {
    for (size_t at = 0; (at = letters.find(pair, at)) != std::u32string::npos;)
      letters.replace(at, pair.size(), 1, letter);
  };
  replace(U"rn", U'm');
  replace(U"vv", U'w');
  return letters;
}

// A part of a name without separators in it.
struct Word {
  std::u32string letters;
  size_t first_letter = 0, behind_letters = 0;  // the range without the digits at both ends
  bool is_only_digits = true;

  void add(const Looks& looks) {
    letters += looks.letters;
    if (looks.kind == Kind::digit) {
      if (is_only_digits) first_letter = letters.size();
      return;
    }
    is_only_digits = false;
    behind_letters = letters.size();
  }
  void add(const Word& word) {
    if (is_only_digits) first_letter = letters.size() + word.first_letter;
    if (!word.is_only_digits) behind_letters = letters.size() + word.behind_letters;
    is_only_digits = is_only_digits && word.is_only_digits;
    letters += word.letters;
  }
  // Returns how people may read the name: digits at either end may stand for letters or be a
  // number.
  std::set<std::u32string> looks() const {
    std::set<std::u32string> all = {with_pairs_joined(letters)};
    if (is_only_digits) return all;
    const size_t first = first_letter, behind = behind_letters;
    all.insert(with_pairs_joined(letters.substr(first)));
    all.insert(with_pairs_joined(letters.substr(0, behind)));
    all.insert(with_pairs_joined(letters.substr(first, behind - first)));
    return all;
  }
};

std::vector<Word> words_of(std::string_view utf8) {
  std::vector<Word> words(1);
  for (const char32_t character : code_points(utf8)) {
    const Looks looks = looks_of(character);
    if (looks.kind == Kind::separator || looks.kind == Kind::space)
      words.emplace_back();
    else if (looks.kind != Kind::nothing)
      words.back().add(looks);
  }
  std::erase_if(words, [](const Word& word) { return word.letters.empty(); });
  return words;
}

const std::set<std::u32string, std::less<>>& companion_looks() {
  static const auto all = [] {
    std::set<std::u32string, std::less<>> looks;
    for (const std::string_view word : companions) looks.insert(looks_of_name(word));
    return looks;
  }();
  return all;
}

}  // namespace

std::u32string looks_of_name(std::string_view utf8) {
  std::u32string letters;
  for (const Word& word : words_of(utf8)) letters += word.letters;
  return with_pairs_joined(letters);
}

ReservedNames::ReservedNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    names_.insert(lower_case(name));
    if (name.size() >= min_disguised) looks_.insert(looks_of_name(name));
  }
}

bool ReservedNames::is_own(const std::u32string& look) const {
  static const std::u32string own = looks_of_name(own_name);
  const auto accompanies = [&](const std::u32string& rest) {
    return rest.empty() || looks_.contains(rest) || companion_looks().contains(rest);
  };
  return (look.starts_with(own) && accompanies(look.substr(own.size()))) ||
         (look.ends_with(own) && accompanies(look.substr(0, look.size() - own.size())));
}

bool ReservedNames::forbids_name(std::string_view utf8) const {
  if (names_.contains(lower_case(utf8))) return true;
  const std::vector<Word> words = words_of(utf8);
  Word whole;
  size_t reserved = 0, others = 0;
  for (const Word& word : words) {
    const auto looks = word.looks();
    if (std::ranges::any_of(looks, [&](const auto& look) { return is_own(look); })) return true;
    const auto among = [&](const auto& set) {
      return std::ranges::any_of(looks, [&](const auto& look) { return set.contains(look); });
    };
    if (among(looks_))
      ++reserved;
    else if (!word.is_only_digits && !among(companion_looks()))
      ++others;
    whole.add(word);
  }
  if (reserved > 0 && others == 0) return true;
  return std::ranges::any_of(whole.looks(), [&](const std::u32string& look) {
    return looks_.contains(look) || is_own(look);
  });
}

bool ReservedNames::forbids_subdomain(std::string_view label) const {
  return names_.contains(label);
}

}  // namespace berth
