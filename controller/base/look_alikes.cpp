#include "controller/base/look_alikes.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/uspoof.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace berth {
namespace {

using Kind = Looks::Kind;

void check(UErrorCode status, const char* what) {
  if (U_FAILURE(status)) throw std::runtime_error(std::string(what) + ": " + u_errorName(status));
}

const icu::Normalizer2& normalizer(const icu::Normalizer2* (*get)(UErrorCode&)) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* found = get(status);
  check(status, "ICU's normalizer");
  return *found;
}

icu::UnicodeString normalized(const icu::Normalizer2& how, const icu::UnicodeString& text) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString result = how.normalize(text, status);
  check(status, "ICU's normalizer");
  return result;
}

icu::UnicodeString skeleton(UChar32 character) {
  static const USpoofChecker* checker = [] {
    UErrorCode status = U_ZERO_ERROR;
    const USpoofChecker* opened = uspoof_open(&status);
    check(status, "ICU's confusables");
    return opened;  // never freed
  }();
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString result;
  constexpr uint32_t any_type = 0;  // ICU ignores it
  uspoof_getSkeletonUnicodeString(checker, any_type, icu::UnicodeString(character), result,
                                  &status);
  check(status, "ICU's confusables");
  return result;
}

// Whether a mark merely disguises a letter. By canonical combining class (UAX #44, table 15): vowel
// signs and viramas (0, 9, 84 to 132) spell words; overlays, nuktas, Hebrew and Arabic points, and
// marks above or below a letter don't.
bool is_accent(UChar32 character) {
  const auto category = u_charType(character);
  if (category == U_ENCLOSING_MARK) return true;
  if (category != U_NON_SPACING_MARK && category != U_COMBINING_SPACING_MARK) return false;
  const int combining = u_getCombiningClass(character);
  return combining == 1 || combining == 7 || (combining >= 10 && combining <= 36) ||
         combining >= 200;
}

// One representative for all letters that may stand for one another: i, l, 1, | and ! are one,
// because they look like a capital I.
char32_t one_of_ascii(char32_t character) {
  static constexpr std::u32string_view digits = U"oi2eas6tbg";
  switch (character) {
    case 'l':
    case '|':
    case '!':
      return 'i';
    case '@':
      return 'a';
    case '$':
      return 's';
    default:
      break;
  }
  if (character >= '0' && character <= '9') return digits[character - '0'];
  return character >= 'a' && character <= 'z' ? character : 0;
}

std::u32string without_accents(const icu::UnicodeString& text) {
  std::u32string kept;
  for (int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1))
    if (!is_accent(text.char32At(at)))
      kept.push_back(static_cast<char32_t>(u_tolower(text.char32At(at))));
  return kept;
}

// The Latin letters that a skeleton looks like; empty if it looks like none.
std::u32string latin(const std::u32string& skeleton) {
  if (skeleton == U"rn") return U"m";  // UTS #39 writes m as rn
  std::u32string letters;
  for (const char32_t each : skeleton) {
    letters.push_back(one_of_ascii(each));
    if (letters.back() == 0) return {};
  }
  return letters;
}

// The letters that a character looks like. It must be in lower case and without accents.
std::u32string letters_like(UChar32 character) {
  if (character < 0x80) {
    const char32_t letter = one_of_ascii(static_cast<char32_t>(character));
    return letter == 0 ? std::u32string() : std::u32string(1, letter);
  }
  constexpr UChar32 first_han = 0x4E00;
  constexpr UChar32 last_hangul = 0xD7FF;  // nothing in this range looks like a Latin letter
  if (character >= first_han && character <= last_hangul) return {static_cast<char32_t>(character)};
  const std::u32string own = without_accents(skeleton(character));
  if (std::u32string found = latin(own); !found.empty()) return found;
  // The small Cyrillic letter en looks like no Latin letter, but its capital looks like H.
  const UChar32 capital = u_toupper(character);
  if (capital != character)
    if (std::u32string found = latin(without_accents(skeleton(capital))); !found.empty())
      return found;
  return own;
}

// White letters in black squares and circles, and the letters that flags are composed of, which
// Unicode doesn't decompose.
UChar32 out_of_its_frame(UChar32 character) {
  for (const UChar32 first : {0x1F150, 0x1F170, 0x1F1E6})
    if (character >= first && character < first + 26) return 'a' + (character - first);
  return character;
}

// Phonetic letters in the form of small capitals, which Unicode doesn't map to ordinary letters.
UChar32 out_of_small_capitals(UChar32 character) {
  constexpr std::string_view prefix = "LATIN LETTER SMALL CAPITAL ";
  std::array<char, 128> name{};  // Unicode's names are shorter
  UErrorCode status = U_ZERO_ERROR;
  const int32_t length = u_charName(character, U_UNICODE_CHAR_NAME, name.data(),
                                    static_cast<int32_t>(name.size()), &status);
  check(status, "ICU's names");
  const bool one_letter =
      size_t(length) == prefix.size() + 1 && std::string_view(name.data()).starts_with(prefix);
  return one_letter ? u_tolower(name[prefix.size()]) : character;
}

std::u32string folded(UChar32 character) {
  static const icu::Normalizer2& compatible =
      normalizer(&icu::Normalizer2::getNFKCCasefoldInstance);
  static const icu::Normalizer2& apart = normalizer(&icu::Normalizer2::getNFDInstance);
  const UChar32 bare = out_of_small_capitals(out_of_its_frame(character));
  const icu::UnicodeString plain =
      normalized(apart, normalized(compatible, icu::UnicodeString(bare)));
  std::u32string letters;
  for (int32_t at = 0; at < plain.length(); at = plain.moveIndex32(at, 1))
    if (!is_accent(plain.char32At(at))) letters += letters_like(plain.char32At(at));
  return letters;
}

Kind kind_of(UChar32 character) {
  if (u_isUWhiteSpace(character)) return Kind::space;
  if (u_hasBinaryProperty(character, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) || is_accent(character))
    return Kind::nothing;
  switch (u_charType(character)) {
    case U_DECIMAL_DIGIT_NUMBER:
    case U_OTHER_NUMBER:
      return Kind::digit;
    case U_LETTER_NUMBER:
    case U_NON_SPACING_MARK:
    case U_COMBINING_SPACING_MARK:
      return Kind::letter;
    default:
      return u_isUAlphabetic(character) ? Kind::letter : Kind::sign;
  }
}

Looks look_at(UChar32 character) {
  Looks looks;
  looks.kind = kind_of(character);
  constexpr UChar32 first_pictograph = 0x1F200;
  constexpr UChar32 last_pictograph = 0x1FAFF;
  const bool pictograph = character >= first_pictograph && character <= last_pictograph;
  if (looks.kind == Kind::sign) {
    if (!pictograph) looks.letters = folded(character);
    const bool one_letter =
        looks.letters.size() == 1 && looks.letters[0] >= 'a' && looks.letters[0] <= 'z';
    if (!one_letter) return {};
  } else if (looks.kind == Kind::letter) {
    looks.letters = folded(character);
    if (looks.letters.empty()) looks.kind = Kind::nothing;
    UErrorCode status = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(character, &status);
    check(status, "ICU's scripts");
    looks.stands_alone = uscript_breaksBetweenLetters(script);
  } else if (looks.kind == Kind::digit) {
    looks.letters = folded(character);
  }
  return looks;
}

}  // namespace

Looks looks_of(char32_t character) {
  // The most frequent characters, in Latin, Greek, Cyrillic and Hebrew texts.
  static const std::vector<Looks> common = [] {
    constexpr UChar32 end = 0x600;
    std::vector<Looks> all;
    all.reserve(end);
    for (UChar32 each = 0; each < end; ++each) all.push_back(look_at(each));
    return all;
  }();
  if (character < common.size()) return common[character];
  constexpr char32_t last = 0x10FFFF;
  return character > last ? Looks{} : look_at(static_cast<UChar32>(character));
}

}  // namespace berth
