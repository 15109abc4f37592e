#include "reconcilers/embedded/node/podman/build_network.h"

#include <net/if.h>
#include <sys/socket.h>

#include "controller/base/log.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/node/podman/firewall.h"
#include "reconcilers/embedded/node/process.h"

namespace berth::embedded::podman {
namespace {

constexpr const char* table = "berth_builds";

// The table is replaced as a whole.
std::string rules() {
  const std::string begin = std::string("table inet ") + table;
  const std::string from = "    iifname \"" + std::string(build_bridge) + "\" ";
  return begin + " {}\ndelete " + begin + "\n" + begin +
         " {\n"
         "  chain forward {\n"
         "    type filter hook forward priority -10; policy accept;\n" +
         from + "ip daddr { " + joined(not_public(AF_INET), ", ") + " } drop\n" + from +
         "meta nfproto ipv6 drop\n" + from +
         "tcp dport 25 drop\n"
         "  }\n"
         "  chain input {\n"
         "    type filter hook input priority -10; policy accept;\n" +
         from + "ip daddr " + build_gateway + " meta l4proto { tcp, udp } th dport 53 accept\n" +
         from +
         "drop\n"
         "  }\n"
         "}\n";
}

CommandResult nft(std::vector<std::string> words, std::string input = {}) {
  words.insert(words.begin(), "nft");
  return run({.args = std::move(words), .env = plain_environment(), .input = std::move(input)});
}

}  // namespace

std::string set_rules_of_builds() {
  const CommandResult result = nft({"-f", "-"}, rules());
  if (result.good()) return "";
  return result.errors.empty() ? "nft can't be started" : shown(result.errors);
}

void keep_rules_of_builds() {
  if (has_chains({.args = {}, .env = plain_environment()}, table, build_bridge)) return;
  log::warning("the rules of the builds' network were removed and are set again");
  if (const std::string why = set_rules_of_builds(); !why.empty())
    log::error("the rules of the builds' network can't be set", {{"reason", why}});
}

void remove_rules_of_builds() {
  if (::if_nametoindex(build_bridge) == 0) (void)nft({"delete", "table", "inet", table});
}

}  // namespace berth::embedded::podman
