#pragma once

#include <expected>
#include <string>
#include <string_view>

// Addresses of mail: which can be delivered to, and which are the same.
namespace berth {

inline constexpr size_t max_mail_address = 254;  // bytes (RFC 5321, section 4.5.3.1.3)
inline constexpr size_t max_local_part = 64;     // bytes (RFC 5321, section 4.5.3.1.1)

// Returns the form in which addresses are compared: two texts that name one mailbox have the same.
// - The domain is in its ASCII form (IDNA 2008 after the mapping of UTS #46, without transitional
//   rules), so that bücher.example, its decomposed form, fullwidth letters and
//   xn--bcher-kva.example are one.
// - The local part is composed (NFC) and in lower case. The standard leaves case to the mail server
//   (RFC 5321, section 2.4), but no provider gives Ada@ and ada@ to different people.
// If nothing can be delivered to the address, returns why, as the end of a sentence that begins
// with the field's name. The local part must be a dot-atom (RFC 5322, section 3.2.3), to which RFC
// 6531, section 3.3, adds letters, digits and marks of all scripts, but not what only looks like
// them: fullwidth and framed letters (characters that NFKC changes) and invisible characters. The
// domain must be a host name with a dot in it, or `localhost`. Thread-safe.
std::expected<std::string, std::string_view> canonical_mail_address(std::string_view address);

// The domain of the addresses of guests, where the API has to show one. No mail server has it (RFC
// 2606, section 2), nobody can register such an address, and no mail is sent to one.
inline constexpr std::string_view guest_mail_domain = "guest.invalid";
// Whether an address, in whatever case, is one of guest_mail_domain. Thread-safe.
bool is_guest_address(std::string_view address);

}  // namespace berth
