#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

// Replaces listed words in chat by asterisks, however they are disguised: by case, accents,
// look-alikes from other scripts (Unicode UTS #39, confusables), compatibility forms (UAX #15,
// NFKC), digits and signs in place of letters (0 o, 1 l i, 3 e, 4 a, 5 s, 7 t, 8 b, 9 g, @ a, $ s,
// ! i), zero-width characters, punctuation between the letters, and repeated letters.
//
// What matches and what doesn't:
// - Only whole words match: "Scunthorpe" doesn't. A digit, sign or apostrophe beside a word doesn't
//   prevent a match. Scripts that don't separate words by spaces (Han, Thai) have no whole words,
//   so words in them match anywhere.
// - Letters that may stand for one another count as the same letter. For example, i and l are the
//   same, because 1 and I look like both, so a listed "tail" matches "tall" too. "rn" doesn't count
//   as m, because "bum" would match "burn".
// - Spaces between letters are ignored only if the letters stand alone ("w o r d") and there are at
//   least three of them: "the pen is" doesn't match. A space in a listed word matches a space in
//   the text, or nothing.
// - A letter may be repeated but not left out: "ass" matches "asss" and not "as".
// - Numbers don't match words: "455" isn't a word. A listed number ("1488") only matches digits
//   with nothing between them.
//
// Immutable, so any number of threads may use one object.
class WordFilter {
 public:
  // Listed words with more letters are left out. They are longer than any word, and the limit
  // bounds how far a text is examined from each position.
  static constexpr size_t max_letters = 64;

  // Uses those words that can_match() accepts.
  explicit WordFilter(const std::vector<std::string>& words);

  // Returns `text` with each visible character of a listed word replaced by an asterisk. All other
  // bytes stay, including invalid UTF-8. The result is never longer than `text`. Takes time linear
  // in its length.
  std::string filter(std::string_view text) const;

  // Whether `word` can match at all: it has a letter or digit, and at most max_letters letters.
  static bool can_match(std::string_view word);

 private:
  enum class Ending : std::uint8_t { none, word, number };
  struct Node {
    char32_t letter = 0;  // the letter that leads to this node
    std::map<char32_t, std::uint32_t> next;
    bool space = false;  // a listed word has a space after this letter
    Ending ending = Ending::none;
    std::uint8_t runs = 0;  // the number of runs of equal letters from the root to this node
  };
  struct Piece;
  struct Walk;

  static std::vector<Piece> split(std::string_view text);
  static bool may_begin_at(const std::vector<Piece>& pieces, size_t at);
  size_t longest_match(const std::vector<Piece>& pieces, size_t start) const;
  void add(std::string_view word);

  std::vector<Node> nodes_;  // a trie of normalised words; the root is the first node
};

}  // namespace berth
