#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace berth::db::postgres {

// Where the server is.
struct Server {
  // What libpq takes (its manual, section 34.1.1): postgresql://… with several hosts, too, or
  // key=value pairs. It says whether TLS is used (sslmode), and may name a file with the password
  // (passfile).
  std::string address;
  // A file whose only line is the password. It is read for each new connection, so it may be
  // replaced while berthd runs.
  std::optional<std::filesystem::path> password_file = {};
};

// What an address says.
struct AddressParts {
  // Names, addresses, or directories of Unix sockets; empty if the address leaves that to libpq.
  std::vector<std::string> hosts;
  std::string database;
  std::string tls;  // sslmode; empty if the address doesn't say
  bool has_password = false;
};

// One of the servers of an address, in libpq's words. What is empty is left to libpq.
struct Place {
  std::string host, hostaddr, port;
  bool operator==(const Place&) const = default;
};
// The servers of an address that names several, in their order. If it names only one, or libpq has
// to say what is wrong with the list, there is one place, in which everything is left to libpq.
// Throws std::invalid_argument if libpq can't read the address.
std::vector<Place> places_of(const std::string& address);

// Reads an address as libpq does. Throws std::invalid_argument, with what is allowed as the end of
// a sentence, if libpq can't read it, or if a part of a password could be taken for a host, a port
// or the name of a database, and then be repeated in messages. The exception repeats nothing of
// the address.
AddressParts parse_address(const std::string& address);

// Whether what is sent to the host doesn't leave this machine: it is a Unix socket or a loopback
// address.
bool is_on_this_machine(const std::string& host);

}  // namespace berth::db::postgres
