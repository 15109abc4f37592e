#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

// Replaces listed words in chat by asterisks, however they are disguised: by case, accents,
// look-alikes of other scripts (Unicode UTS #39, confusables), compatibility forms (UAX #15, NFKC),
// digits and signs for letters (0 o, 1 l i, 3 e, 4 a, 5 s, 7 t, 8 b, 9 g, @ a, $ s, ! i),
// zero-width characters, punctuation between the letters, and repeated letters.
//
// What is a hit, and what isn't:
// - Whole words only: "Scunthorpe" stays. A digit or sign beside a word doesn't protect it, nor
//   does an apostrophe. Scripts
//   that don't separate words (Han, Thai) have no whole words, so there a word is found anywhere.
// - Letters that may stand for one another are one letter: i and l are, through 1 and I, so that a
//   listed "tail" takes "tall" too. "rn" isn't m, since "bum" would take "burn".
// - Spaces are looked through only where the letters stand alone ("w o r d"), at least three of
//   them: "the pen is" stays. A space in the listed word matches one in the text, or none.
// - A letter may be repeated, not left out: "ass" takes "asss" and not "as".
// - Numbers stay: "455" is no word. A listed number ("1488") is found in digits alone, with
//   nothing between them.
//
// Immutable, so that any number of threads may use one.
class WordFilter {
 public:
  // Letters of a listed word, above which it is left out: longer than any word, and it bounds what
  // is looked at from each place in a text.
  static constexpr size_t max_letters = 64;

  // Takes the words that can_match() takes, leaves out the others.
  explicit WordFilter(const std::vector<std::string>& words);

  // `text` with an asterisk for each visible character of a listed word; all other bytes as they
  // are, those that aren't UTF-8 too. Never longer than `text`. Takes time linear in it.
  std::string filter(std::string_view text) const;

  // Whether `word` can be found at all: it has a letter or digit, and not more than max_letters.
  static bool can_match(std::string_view word);

 private:
  enum class Ending : std::uint8_t { none, word, number };
  struct Node {
    char32_t letter = 0;  // that leads here
    std::map<char32_t, std::uint32_t> next;
    bool space = false;  // a listed word has a space behind this letter
    Ending ending = Ending::none;
    std::uint8_t runs = 0;  // different letters in a row, from the root to here
  };
  struct Piece;
  struct Walk;

  static std::vector<Piece> split(std::string_view text);
  static bool may_begin_at(const std::vector<Piece>& pieces, size_t at);
  size_t longest_match(const std::vector<Piece>& pieces, size_t start) const;
  void add(std::string_view word);

  std::vector<Node> nodes_;  // a trie of folded words; the root is the first
};

}  // namespace berth
