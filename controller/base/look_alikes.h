#pragma once

#include <string>

namespace berth {

// What a character counts as where texts are compared by their looks.
struct Looks {
  enum class Kind : unsigned char {
    nothing,    // zero-width characters, accents: part of what stands before
    letter,     // and what belongs to one, as a vowel sign
    digit,      // that may stand for the letter in `letters`
    sign,       // the same
    separator,  // any other sign
    space
  } kind = Kind::separator;
  // The letters that it may be read as: lower case, and one for all that look alike. More than one
  // for ligatures; none for separators, and for digits and signs that look like no letter.
  std::u32string letters;
  // Of a script that doesn't separate words (Han, Thai).
  bool stands_alone = false;
};

// Of one code point. After Unicode UTS #39 (confusables), UAX #15 (NFKC_Casefold) and the digits
// and signs that people write for letters; case makes no difference. Thread-safe.
Looks looks_of(char32_t character);

}  // namespace berth
