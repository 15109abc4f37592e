// Answers of DNS servers. The first byte says which type of record was asked for. An input that
// consists of hexadecimal digits stands for the bytes that they encode, so that the corpus is text.
#include <algorithm>
#include <charconv>

#include "reconcilers/dns/message.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

std::string bytes_of(std::string_view input) {
  if (input.ends_with('\n')) input.remove_suffix(1);
  std::string bytes;
  for (std::size_t at = 0; at + 1 < input.size(); at += 2) {
    unsigned char byte = 0;
    const auto [end, error] = std::from_chars(input.data() + at, input.data() + at + 2, byte, 16);
    if (error != std::errc() || end != input.data() + at + 2) return std::string(input);
    bytes += char(byte);
  }
  return bytes;
}

}  // namespace

void run(std::string_view input) {
  const std::string bytes = bytes_of(input);
  if (bytes.empty()) return;
  constexpr dns::Type types[] = {dns::Type::a, dns::Type::aaaa, dns::Type::txt};
  const dns::Type type = types[static_cast<unsigned char>(bytes.front()) % std::size(types)];
  const auto message = dns::parse_message(std::string_view(bytes).substr(1), type);
  if (!message) return;
  hold(message->rcode >= 0 && message->rcode <= 15, "a response code has four bits");
  for (const auto& [from, to] : message->aliases)
    hold(dns::normal(to) == to || to.ends_with('.'), "names are in lower case");
  for (const auto& [name, values] : message->values) {
    hold(!values.empty(), "a name that is there has values");
    for (const std::string& value : values)
      if (type != dns::Type::txt)
        hold(value.find_first_not_of("0123456789abcdef:.") == value.npos,
             "an address is an address");
  }
}

}  // namespace berth::fuzz
