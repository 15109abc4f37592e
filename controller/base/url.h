#pragma once

#include <optional>
#include <string>
#include <string_view>

// Addresses of the web: read strictly, so that nobody who reads the same text sees another host in
// it.
namespace berth {

// An absolute URL that names a host (RFC 3986, section 3): scheme://user:password@host:port/path,
// and what stands behind that.
struct Url {
  std::string scheme;    // in lower case
  std::string user;      // percent-decoded; empty where there is none
  std::string password;  // the same
  // In lower case: a name of letters, digits, hyphens and dots, an IPv4 address in four decimal
  // parts, or an IPv6 address in brackets. Letters beyond ASCII are in their xn-- form (RFC 5891).
  std::string host;
  int port = 0;      // 1 to 65535; 0: none was written
  std::string rest;  // from the path on, as it was written; empty or beginning with / ? or #

  bool has_user() const { return !user.empty() || !password.empty(); }
  bool is_web() const { return scheme == "https" || scheme == "http"; }
  std::string authority() const;  // host, or host:port
  // scheme://host or scheme://host:port (RFC 6454, section 6.1). It has no characters but letters,
  // digits and -.:/[] in its part behind the scheme, so that it can stand in a header's list of
  // sources.
  std::string origin() const { return scheme + "://" + authority(); }
};

// Nothing where the text is no such URL, has blanks, control characters or backslashes, names a
// port outside of 1 to 65535, or writes its host in a way that others might read differently:
// percent-encoded, as a number, with an empty user or port, or against the grammar above.
std::optional<Url> parse_url(std::string_view text);

// The name with letters beyond ASCII in their xn-- form (UTS #46, without its transitional rules);
// a name of ASCII as it is. Nothing where it has no such form.
std::optional<std::string> ascii_host(std::string_view name);

// One part of a host name: 1 to 63 lower-case letters, digits and hyphens, with a letter or a digit
// at both ends (RFC 1123, section 2.1).
bool is_host_label(std::string_view text);
// Such labels with dots between them, 253 characters at most. The last one is no number: a name
// that looks like an address is one (RFC 3696, section 2).
bool is_host_name(std::string_view text);

// Whether what is sent to `host` stays on this machine: localhost and the names below it (RFC 6761,
// section 6.3), 127.0.0.0/8 and ::1, with or without brackets.
bool is_loopback(std::string_view host);

// Everything but the unreserved characters of RFC 3986, section 2.3, as %XX: the result can't end
// a part of a URL, the URL, or the header that it stands in.
std::string percent_encode(std::string_view text);

}  // namespace berth
