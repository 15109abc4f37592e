#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"

// The text of a mail: RFC 5322, MIME (RFC 2045, RFC 2047), plain text in UTF-8.
namespace berth {

struct Mailbox {
  std::string name;  // may be empty
  std::string address;
};
// "ada@example.org", "Ada <ada@example.org>", "\"Ada, of berth\" <ada@example.org>". Nothing where
// it is none of them, or has control characters.
std::optional<Mailbox> parse_mailbox(std::string_view text);

// The address with its domain in ASCII (RFC 5891, section 4), as the DNS has it and as servers take
// it that don't know RFC 6531: ann@bücher.example is ann@xn--bcher-kva.example. As it is where the
// domain has no such form.
std::string with_ascii_domain(const std::string& address);

struct MailText {
  std::string id;  // of the Message-ID: the same each time that this mail is sent
  Mailbox from;
  std::string to;  // an address
  std::string subject;
  std::string body;  // lines end with \n
  Instant date;
};
// Head and body with CRLF. Nothing that stands in a field can start another one: throws
// std::invalid_argument where addresses, names or subject have control characters, or where an
// address isn't one.
std::string compose(const MailText& mail);

}  // namespace berth
