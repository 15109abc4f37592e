#include "reconcilers/dns/message.h"

#include <ares.h>
#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "controller/base/ascii.h"

namespace berth::dns {
namespace {

constexpr int type_cname = 5;
constexpr int class_internet = 1;

struct Malformed {};

// Reads a message from beginning to end; throws Malformed if it is too short.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  int byte() { return static_cast<unsigned char>(take(1).front()); }
  int number() {
    const int high = byte();
    return high << 8 | byte();
  }
  std::string_view take(size_t count) {
    if (bytes_.size() - at_ < count) throw Malformed();
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::string name() { return name_at(at_, &at_); }
  // Reads a name, which may contain a pointer to an earlier part of the message.
  std::string name_at(size_t start, size_t* end = nullptr) const {
    if (start >= bytes_.size()) throw Malformed();
    const auto* all = reinterpret_cast<const unsigned char*>(bytes_.data());
    char* text = nullptr;
    long length = 0;
    if (ares_expand_name(all + start, all, int(bytes_.size()), &text, &length) != ARES_SUCCESS)
      throw Malformed();
    const std::string name = normal(text);
    ares_free_string(text);
    if (end != nullptr) *end = start + size_t(length);
    return name;
  }
  size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

std::string address_of(std::string_view data, Type type) {
  const bool is_four = type == Type::a;
  if (data.size() != (is_four ? 4U : 16U)) throw Malformed();
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(is_four ? AF_INET : AF_INET6, data.data(), text.data(), text.size());
  return text.data();
}

// A TXT record is a list of strings; its meaning is their concatenation (RFC 7208, section 3.3).
std::string text_of(std::string_view data) {
  std::string text;
  Reader strings(data);
  while (strings.at() < data.size()) text += strings.take(size_t(strings.byte()));
  return text;
}

void read_record(Reader& reader, Type type, Message& message) {
  const std::string owner = reader.name();
  const int kind = reader.number();
  const int network = reader.number();
  reader.take(4);  // the time to live, which isn't needed since nothing is cached
  const auto length = size_t(reader.number());
  const size_t start = reader.at();
  const std::string_view data = reader.take(length);
  if (network != class_internet) return;
  if (kind == type_cname)
    message.aliases.emplace(owner, reader.name_at(start));
  else if (kind == number_of(type))
    message.values[owner].push_back(type == Type::txt ? text_of(data) : address_of(data, type));
}

}  // namespace

int number_of(Type type) {
  switch (type) {
    case Type::a:
      return 1;
    case Type::aaaa:
      return 28;
    case Type::txt:
      return 16;
  }
  return 0;
}

std::optional<Message> parse_message(std::string_view bytes, Type type) {
  constexpr int rcode_bits = 15;
  try {
    Reader reader(bytes);
    Message message;
    reader.take(2);  // the id, which c-ares has checked
    message.rcode = reader.number() & rcode_bits;
    const int questions = reader.number();
    const int answers = reader.number();
    reader.take(4);  // the counts of the two sections that aren't needed
    for (int i = 0; i < questions; ++i) {
      reader.name();
      reader.take(4);
    }
    for (int i = 0; i < answers; ++i) read_record(reader, type, message);
    return message;
  } catch (const Malformed&) {
    return std::nullopt;
  }
}

std::string normal(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  return lower_case(name);
}

}  // namespace berth::dns
