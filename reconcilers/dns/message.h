#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reconcilers/dns/resolver.h"

// Answers as they come over the wire (RFC 1035, section 4).
namespace berth::dns {

struct Message {
  int rcode = 0;
  std::map<std::string, std::string> aliases;              // CNAME: from a name to another
  std::map<std::string, std::vector<std::string>> values;  // of the asked type, by name
};

inline constexpr int rcode_no_error = 0;
inline constexpr int rcode_no_such_name = 3;

// The number of a type of records (RFC 1035, section 3.2.2; RFC 3596).
int number_of(Type type);
// Nothing where the bytes are no whole message.
std::optional<Message> parse_message(std::string_view bytes, Type type);
// In lower case, without a dot at the end: names are compared like that (RFC 4343).
std::string normal(std::string_view name);

}  // namespace berth::dns
