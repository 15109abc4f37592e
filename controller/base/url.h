#pragma once

#include <optional>
#include <string>
#include <string_view>

// Reading URLs. They are read strictly, so that no other program that reads the same text can see a
// different host in it.
namespace berth {

// An absolute URL with a host (RFC 3986, section 3): scheme://user:password@host:port/path, and
// what follows that.
struct Url {
  std::string scheme;    // in lower case
  std::string user;      // percent-decoded; empty if there is none
  std::string password;  // the same
  // In lower case: a name of letters, digits, hyphens and dots, an IPv4 address in four decimal
  // parts, or an IPv6 address in brackets. Letters beyond ASCII are converted to the xn-- form (RFC
  // 5891).
  std::string host;
  int port = 0;      // 1 to 65535; 0 if none was written
  std::string rest;  // from the path on, unchanged; empty, or begins with / ? or #

  bool has_user() const { return !user.empty() || !password.empty(); }
  bool is_web() const { return scheme == "https" || scheme == "http"; }
  std::string authority() const;  // "host" or "host:port"
  // Returns scheme://host or scheme://host:port (RFC 6454, section 6.1). After the scheme it
  // contains only letters, digits and -.:/[], so that it can be put into a header's list of
  // sources.
  std::string origin() const { return scheme + "://" + authority(); }
};

// Returns the port of a URL of the web that names none (RFC 9110, section 4.2).
int port_of_scheme(std::string_view scheme);

// Parses a URL. Returns nothing if the text isn't one; contains blanks, control characters or
// backslashes; has a port outside 1 to 65535; or has a host in a notation that programs read
// differently, such as percent-encoded, as a number, or with an empty user or port.
std::optional<Url> parse_url(std::string_view text);

// Returns the name with letters beyond ASCII converted to the xn-- form (UTS #46, without
// transitional rules); a name in ASCII is returned unchanged. Returns nothing if the name has no
// such form.
std::optional<std::string> ascii_host(std::string_view name);

// Whether the text is one label of a host name: 1 to 63 lower-case letters, digits and hyphens,
// with a letter or a digit at both ends (RFC 1123, section 2.1).
bool is_host_label(std::string_view text);
// Whether the text consists of such labels with dots between them, 253 characters at most. The last
// label must not be a number, because such a name is read as an address (RFC 3696, section 2).
bool is_host_name(std::string_view text);

// Whether data sent to `host` stays on this machine: localhost and names below it (RFC 6761,
// section 6.3), 127.0.0.0/8 and ::1, with or without brackets.
bool is_loopback(std::string_view host);

// Returns the text with everything but the unreserved characters of RFC 3986, section 2.3, as %XX.
// The result can't end the part of a URL, the URL, or the header that it is put into.
std::string percent_encode(std::string_view text);

// The meaning of '+': a blank in a query or a form, or itself, as in a path.
enum class Plus { is_blank, is_plus };

// Decodes percent-encoding (RFC 3986, section 2.1). Returns nothing if a '%' isn't followed by two
// hexadecimal digits. The result may contain any byte, including NUL and invalid UTF-8.
std::optional<std::string> percent_decode(std::string_view text, Plus plus);

}  // namespace berth
