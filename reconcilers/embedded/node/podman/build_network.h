#pragma once

#include <string>

namespace berth::embedded::podman {

// The network of all builds, outside of the blocks of the apps' networks. All data directories give
// it the same name, bridge and rules.
inline constexpr const char* build_network = "berth-build";
inline constexpr const char* build_bridge = "bthbuild0";
inline constexpr const char* build_range = "10.207.255.0/24";
inline constexpr const char* build_gateway = "10.207.255.1";

// Sets nftables' rules that keep builds from this machine and from all addresses that aren't the
// internet's, but for names, which the network's gateway knows. Returns why that isn't possible, in
// nft's words; "" if they are set.
std::string set_rules_of_builds();
// Sets them again if somebody has removed them, as reloading the machine's own rules does.
void keep_rules_of_builds();
// Removes them, unless something is being built, maybe for another data directory.
void remove_rules_of_builds();

}  // namespace berth::embedded::podman
