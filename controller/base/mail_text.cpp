#include "controller/base/mail_text.h"

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "controller/base/ascii.h"
#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "controller/base/url.h"

namespace berth {
namespace {

constexpr size_t max_line = 76;      // RFC 2045, section 6.7
constexpr size_t max_address = 254;  // RFC 5321, section 4.5.3.1.3
// "=?UTF-8?B?", 56 characters of base64 and "?=" are 68 of the 75 allowed.
constexpr size_t bytes_of_a_word = 42;
constexpr size_t longest_plain_subject = 60;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}
bool has_control(std::string_view text) { return std::ranges::any_of(text, is_control); }

bool is_address(std::string_view text) {
  const size_t at = text.rfind('@');
  return at != std::string_view::npos && at > 0 && at + 1 < text.size() &&
         text.size() <= max_address && !has_control(text) &&
         text.find_first_of("<> ,;:\"()[]\\") == std::string_view::npos;
}

// Encodes the text in words that contain whole characters, each on its own line (RFC 2047, section
// 2).
std::string encoded_words(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t end = std::min(text.size(), bytes_of_a_word);
    while (end < text.size() && end > 1 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
      --end;
    result +=
        (result.empty() ? "=?UTF-8?B?" : "\r\n =?UTF-8?B?") + base64(text.substr(0, end)) + "?=";
    text.remove_prefix(end);
  }
  return result;
}

std::string subject_text(std::string_view subject) {
  const bool plain = is_ascii(subject) && subject.size() <= longest_plain_subject &&
                     subject.find("=?") == std::string_view::npos && trimmed(subject) == subject;
  return plain ? std::string(subject) : encoded_words(subject);
}

std::string mailbox_text(const Mailbox& mailbox) {
  const std::string address = "<" + mailbox.address + ">";
  if (mailbox.name.empty()) return address;
  if (!is_ascii(mailbox.name) || mailbox.name.size() > longest_plain_subject)
    return encoded_words(mailbox.name) + "\r\n " + address;
  std::string quoted;
  for (const char c : mailbox.name)
    quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return "\"" + quoted + "\" " + address;
}

// Date and time as in RFC 5322, section 3.3. Without strftime, which would use the locale's names.
std::string date_text(Instant at) {
  static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = std::time_t(to_millis(at) / 1'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d +0000", days[parts.tm_wday],
                parts.tm_mday, months[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour,
                parts.tm_min, parts.tm_sec);
  return text;
}

std::string hex_byte(char c) {
  static constexpr char digits[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  return {'=', digits[byte >> 4], digits[byte & 15]};
}

// Encodes one line as quoted-printable (RFC 2045, section 6.7), with line breaks if it is too long.
std::string quoted_printable(std::string_view line) {
  std::string result;
  size_t length = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool last_blank = (c == ' ' || c == '\t') && i + 1 == line.size();
    const bool plain = (c == '\t' || (c >= ' ' && c <= '~')) && c != '=' && !last_blank;
    const std::string piece = plain ? std::string(1, c) : hex_byte(c);
    if (length + piece.size() >= max_line) {
      result += "=\r\n";
      length = 0;
    }
    result += piece;
    length += piece.size();
  }
  return result;
}

std::string body_text(std::string_view body) {
  std::string result;
  while (!body.empty()) {
    const size_t end = std::min(body.find('\n'), body.size());
    std::string_view line = body.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    result += quoted_printable(line) + "\r\n";
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  return result;
}

void want(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(what);
}

}  // namespace

std::optional<Mailbox> parse_mailbox(std::string_view text) {
  if (has_control(text)) return std::nullopt;
  text = trimmed(text);
  Mailbox mailbox = {.name = {}, .address = std::string(text)};
  if (const size_t open = text.rfind('<'); open != std::string_view::npos && text.ends_with('>')) {
    std::string_view name = trimmed(text.substr(0, open));
    const bool quoted = name.size() >= 2 && name.starts_with('"') && name.ends_with('"');
    if (quoted) name = name.substr(1, name.size() - 2);
    if (name.find_first_of("\"<>\\") != std::string_view::npos) return std::nullopt;
    mailbox = {.name = std::string(name),
               .address = std::string(text.substr(open + 1, text.size() - open - 2))};
  }
  return is_address(mailbox.address) ? std::optional(mailbox) : std::nullopt;
}

std::string with_ascii_domain(const std::string& address) {
  const size_t at = address.rfind('@');
  if (at == std::string::npos) return address;
  const auto domain = ascii_host(std::string_view(address).substr(at + 1));
  return domain ? address.substr(0, at + 1) + *domain : address;
}

std::string compose(const MailText& mail) {
  want(is_address(mail.to), "the receiver's address isn't an address");
  want(is_address(mail.from.address), "the sender's address isn't an address");
  want(!has_control(mail.from.name), "the sender's name has control characters");
  want(!has_control(mail.subject), "the subject has control characters");
  want(!has_control(mail.id), "the id has control characters");
  const std::string domain = mail.from.address.substr(mail.from.address.rfind('@') + 1);
  return "Date: " + date_text(mail.date) + "\r\nFrom: " + mailbox_text(mail.from) + "\r\nTo: <" +
         mail.to + ">\r\nSubject: " + subject_text(mail.subject) + "\r\nMessage-ID: <" + mail.id +
         "@" + domain +
         ">\r\n"
         "Auto-Submitted: auto-generated\r\n"
         "MIME-Version: 1.0\r\n"
         "Content-Type: text/plain; charset=utf-8\r\n"
         "Content-Transfer-Encoding: quoted-printable\r\n\r\n" +
         body_text(mail.body);
}

}  // namespace berth
