#pragma once

#include <string>

namespace berth {

// How a character is treated when texts are compared by how they look.
struct Looks {
  enum class Kind : unsigned char {
    nothing,    // zero-width characters and accents, which belong to the preceding character
    letter,     // including parts of letters, such as vowel signs
    digit,      // may stand for the letter in `letters`
    sign,       // may stand for the letter in `letters`
    separator,  // any other sign
    space
  } kind = Kind::separator;
  // The letters that the character may be read as, in lower case, with one representative for all
  // letters that look alike. Ligatures have more than one; separators, and digits and signs that
  // look like no letter, have none.
  std::u32string letters;
  // Whether its script doesn't separate words by spaces (Han, Thai).
  bool stands_alone = false;
};

// The looks of one code point, after Unicode UTS #39 (confusables), UAX #15 (NFKC_Casefold), and
// the digits and signs that people write in place of letters. Case makes no difference.
// Thread-safe.
Looks looks_of(char32_t character);

}  // namespace berth
