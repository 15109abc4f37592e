#include "controller/base/mail_address.h"

#include <idn2.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "controller/base/ascii.h"
#include "controller/base/url.h"
#include "controller/base/visible_text.h"

namespace berth {
namespace {

constexpr std::string_view not_an_address = "must be an address like name@example.org";

icu::UnicodeString normalized(const icu::Normalizer2* (*get)(UErrorCode&),
                              const icu::UnicodeString& text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const form = get(status);
  icu::UnicodeString result;
  if (U_SUCCESS(status)) result = form->normalize(text, status);
  if (U_FAILURE(status))
    throw std::runtime_error(std::string("ICU's normalizer: ") + u_errorName(status));
  return result;
}

// RFC 5322, section 3.2.3 (atext); RFC 6531, section 3.3.
bool is_of_local_part(UChar32 character) {
  constexpr std::string_view signs = "!#$%&'*+-/=?^_`{|}~.";
  if (character < 0x80)
    return u_isalnum(character) || signs.find(char(character)) != std::string_view::npos;
  if (u_hasBinaryProperty(character, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) return false;
  const auto category = u_charType(character);
  return u_isalnum(character) || category == U_NON_SPACING_MARK ||
         category == U_COMBINING_SPACING_MARK;
}

std::expected<std::string, std::string_view> canonical_local_part(std::string_view local) {
  const bool dots_inside = !local.empty() && !local.starts_with('.') && !local.ends_with('.') &&
                           local.find("..") == std::string_view::npos;
  if (!dots_inside) return std::unexpected(not_an_address);
  const auto text = icu::UnicodeString::fromUTF8(composed(local));
  for (int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1))
    if (!is_of_local_part(text.char32At(at)))
      return std::unexpected(
          "must have only letters, digits and -_+.'!#$%&*/=?^`{|}~ before the @");
  if (normalized(icu::Normalizer2::getNFKCInstance, text) != text)
    return std::unexpected(
        "must not have characters before the @ that only look like letters or digits");
  icu::UnicodeString lower = text;
  lower.toLower(icu::Locale::getRoot());
  std::string result;
  normalized(icu::Normalizer2::getNFCInstance, lower).toUTF8String(result);
  if (local.size() > max_local_part || result.size() > max_local_part)
    return std::unexpected("must have at most 64 bytes before the @");
  return result;
}

std::expected<std::string, std::string_view> canonical_domain(std::string_view domain) {
  // Not IDN2_USE_STD3_ASCII_RULES, with which libidn2 2.3.3 drops what isn't allowed, such as
  // blanks and underscores, instead of refusing the name; is_host_name() looks for those.
  constexpr int rules = IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL;
  char* converted = nullptr;
  const int status = idn2_to_ascii_8z(std::string(domain).c_str(), &converted, rules);
  const std::unique_ptr<char, decltype(&idn2_free)> owner(converted, idn2_free);
  if (status != IDN2_OK) return std::unexpected("must have the name of a mail server behind the @");
  std::string result = lower_case(std::string_view(converted));
  if (result == "localhost") return result;
  if (!is_host_name(result) || result.find('.') == std::string::npos)
    return std::unexpected(not_an_address);
  return result;
}

}  // namespace

std::expected<std::string, std::string_view> canonical_mail_address(std::string_view address) {
  if (address.size() > max_mail_address) return std::unexpected("must have at most 254 characters");
  if (!is_utf8(address) || address.find('\0') != std::string_view::npos)
    return std::unexpected(not_an_address);
  if (refusal_of_text(address, Lines::one))
    return std::unexpected("must not contain control characters");
  const size_t at = address.find('@');
  if (at == std::string_view::npos || at != address.rfind('@'))
    return std::unexpected(not_an_address);
  const auto local = canonical_local_part(address.substr(0, at));
  if (!local) return local;
  const auto domain = canonical_domain(address.substr(at + 1));
  if (!domain) return domain;
  std::string result = *local + "@" + *domain;
  if (result.size() > max_mail_address) return std::unexpected("must have at most 254 characters");
  return result;
}

bool is_guest_address(std::string_view address) {
  return lower_case(address).ends_with("@" + std::string(guest_mail_domain));
}

}  // namespace berth
