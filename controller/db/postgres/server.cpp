#include "controller/db/postgres/server.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "controller/base/text.h"
#include "controller/base/url.h"

namespace berth::db::postgres {
namespace {

constexpr const char* like_this =
    "an address such as postgresql://user@host:5432/name?sslmode=verify-full; in a user name and a "
    "password, characters such as @ : / ? # and % are written as %40 %3A %2F %3F %23 and %25";

struct OptionsFreer {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using ConninfoOptions = std::unique_ptr<PQconninfoOption, OptionsFreer>;

// libpq's message about an address that it can't read may quote a part of it, such as a password.
ConninfoOptions options_of(const std::string& address) {
  char* message = nullptr;
  ConninfoOptions options(PQconninfoParse(address.c_str(), &message));
  PQfreemem(message);
  if (!options) throw std::invalid_argument(like_this);
  return options;
}

std::string value_of(const PQconninfoOption* options, std::string_view keyword) {
  for (const PQconninfoOption* one = options; one->keyword != nullptr; ++one)
    if (one->keyword == keyword) return one->val == nullptr ? "" : one->val;
  return "";
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  if (list.ends_with(',')) parts.emplace_back();
  return parts;
}

// libpq takes any text. Names may have an underscore, unlike those of the public DNS.
bool can_be_host(const std::string& host) {
  return host.starts_with('/') || std::ranges::all_of(host, [](unsigned char c) {
           return std::isalnum(c) != 0 || std::string_view("-_.:%").contains(char(c));
         });
}

// An element of a list of libpq's: a list of one element is for all hosts.
std::string element_of(const std::vector<std::string>& list, size_t index) {
  if (list.empty()) return "";
  return list.at(list.size() == 1 ? 0 : index);
}

constexpr const char* default_port = "5432";

}  // namespace

std::vector<Place> places_of(const std::string& address) {
  const ConninfoOptions options = options_of(address);
  const auto hosts = parts_of(value_of(options.get(), "host"));
  const auto addresses = parts_of(value_of(options.get(), "hostaddr"));
  const auto ports = parts_of(value_of(options.get(), "port"));
  const size_t count = std::max(hosts.size(), addresses.size());
  const auto is_plain = [&](const auto& list) {
    return list.empty() ||
           (list.size() == count && std::ranges::none_of(list, &std::string::empty));
  };
  const bool is_list = count > 1 && is_plain(hosts) && is_plain(addresses) &&
                       (ports.size() <= 1 || ports.size() == count);
  if (!is_list) return {Place()};
  std::vector<Place> places;
  for (size_t i = 0; i < count; ++i) {
    std::string port = element_of(ports, i);
    if (port.empty() && !ports.empty()) port = default_port;
    places.push_back({.host = element_of(hosts, i),
                      .hostaddr = element_of(addresses, i),
                      .port = std::move(port)});
  }
  return places;
}

AddressParts parse_address(const std::string& address) {
  const ConninfoOptions options = options_of(address);
  const std::string numeric = value_of(options.get(), "hostaddr");
  const AddressParts parts = {
      .hosts = parts_of(numeric.empty() ? value_of(options.get(), "host") : numeric),
      .database = value_of(options.get(), "dbname"),
      .tls = value_of(options.get(), "sslmode"),
      .has_password = !value_of(options.get(), "password").empty()};
  const std::vector<std::string> named = parts_of(value_of(options.get(), "host"));
  const std::vector<std::string> ports = parts_of(value_of(options.get(), "port"));
  // If there are several hosts, each may be followed by a port.
  const auto can_be_port = [](const std::string& port) { return port.empty() || is_port(port); };
  const bool is_clear = std::ranges::all_of(named, can_be_host) &&
                        std::ranges::all_of(parts.hosts, can_be_host) &&
                        std::ranges::all_of(ports, can_be_port) &&
                        parts.database.find_first_of("@/") == std::string::npos;
  if (!is_clear) throw std::invalid_argument(like_this);
  return parts;
}

bool is_on_this_machine(const std::string& host) {
  return host.starts_with('/') || is_loopback(host);
}

}  // namespace berth::db::postgres
