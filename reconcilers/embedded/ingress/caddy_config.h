#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/apiserver/types.h"

namespace berth::embedded {

// An address that Caddy listens on; an empty host means all addresses of the machine.
struct IngressAddress {
  std::string host;
  int port = 0;
  std::string text() const;  // host:port, with brackets around an IPv6 address
  // How this machine itself reaches it.
  std::string local() const;
};

struct CaddySettings {
  std::filesystem::path directory;  // of the sockets, the routes, and Caddy's storage
  IngressAddress http;
  std::optional<IngressAddress> https;     // empty: nothing is served over TLS
  std::vector<std::string> console_hosts;  // the hosts of berthd's own address
  std::string console_url;                 // without a slash at its end
  std::string acme_directory;
  std::string acme_ca_file;  // for the connection to the directory; empty: the system's
  int log_port = 0;          // of AccessLog, on 127.0.0.1
  std::string secret;        // random: what Caddy's log lines and questions begin with

  std::string admin_socket() const { return (directory / "admin.sock").string(); }
  // Where Caddy passes requests for berthd's own hosts on to.
  std::string console_socket() const { return (directory / "console.sock").string(); }
  // Where Caddy asks whether a host may have a certificate.
  std::string ask_socket() const { return (directory / "ask.sock").string(); }
};

// The value of the field Host that Caddy's administration wants. With it, no web page that a user
// of this machine opens can speak to the administration.
inline constexpr const char* caddy_admin_host = "berth";
// The name under which the key of a log line's message is `secret`.
inline constexpr const char* ask_path = "/ask";

// Caddy's configuration (https://caddyserver.com/docs/json/), for 2.6 and later. It is the same for
// as long as the settings are: which hosts exist, where their requests go, and which of them have
// certificates, isn't part of it (route_files.h). The path of the directory must not contain any of
// the characters in `unfit_for_paths`, which mean something to Caddy.
Json caddy_config(const CaddySettings& settings);
inline constexpr const char* unfit_for_paths = "*?[]{}\\";

}  // namespace berth::embedded
