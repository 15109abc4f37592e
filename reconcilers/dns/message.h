#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reconcilers/dns/resolver.h"

// Parses DNS messages (RFC 1035, section 4).
namespace berth::dns {

struct Message {
  int rcode = 0;
  // CNAME records: from a name to the name that it stands for.
  std::map<std::string, std::string> aliases;
  // The values of the requested type, by name.
  std::map<std::string, std::vector<std::string>> values;
};

inline constexpr int rcode_no_error = 0;
inline constexpr int rcode_no_such_name = 3;

// The number of a record type (RFC 1035, section 3.2.2; RFC 3596).
int number_of(Type type);
// Parses a message, keeping its CNAME records and those of `type`. Returns nothing if the bytes are
// no complete message.
std::optional<Message> parse_message(std::string_view bytes, Type type);
// The name in lower case and without a dot at the end, which is how names are compared (RFC 4343).
std::string normal(std::string_view name);

}  // namespace berth::dns
