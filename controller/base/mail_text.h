#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"

// Builds the text of a mail: RFC 5322, MIME (RFC 2045, RFC 2047), plain text in UTF-8.
namespace berth {

struct Mailbox {
  std::string name;  // may be empty
  std::string address;
};
// Parses "ada@example.org", "Ada <ada@example.org>" or "\"Ada, of berth\" <ada@example.org>".
// Returns nothing for any other text, and if it contains control characters.
std::optional<Mailbox> parse_mailbox(std::string_view text);

// The address with its domain in ASCII (RFC 5891, section 4), as the DNS has it and as servers
// accept it that don't support RFC 6531: ann@bücher.example becomes ann@xn--bcher-kva.example. If
// the domain has no such form, the address is returned unchanged.
std::string with_ascii_domain(const std::string& address);

struct MailText {
  std::string id;  // for the Message-ID; the same each time that this mail is sent
  Mailbox from;
  std::string to;  // an address
  std::string subject;
  std::string body;  // lines end with \n
  Instant date;
};
// Header and body, with CRLF line ends. No field's value can start another field: throws
// std::invalid_argument if an address, a name or the subject contains control characters, or if an
// address is malformed.
std::string compose(const MailText& mail);

}  // namespace berth
