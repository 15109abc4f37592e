#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/node/podman/machine.h"
#include "reconcilers/embedded/node/runtime.h"

// What podman is asked for when a container of a pod is created.
namespace berth::embedded::podman {

// The labels of berth's containers and networks.
inline constexpr const char* instance_label = "berth.instance";
inline constexpr const char* namespace_label = "berth.namespace";
inline constexpr const char* pod_label = "berth.pod";
inline constexpr const char* uid_label = "berth.uid";
inline constexpr const char* container_label = "berth.container";
inline constexpr const char* run_label = "berth.run";
inline constexpr const char* image_label = "berth.image";
inline constexpr const char* address_label = "berth.address";
inline constexpr const char* facts_label = "berth.facts";  // PodFacts as JSON

// What has to be known of a pod whose container was started before berthd was.
struct PodFacts {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::uint64_t> volume_limits;  // emptyDir volumes by name; 0: no limit
  std::uint64_t disk_limit = 0;                        // ephemeral-storage; 0: no limit
  std::string image_id;
  std::vector<int> ports;  // that the container names
};
PodFacts facts_of(const Json& pod, const Json& spec);
Json to_json(const PodFacts& facts);
PodFacts pod_facts(const Json& json);

struct Placement {
  std::string instance;
  std::string name;      // the container's, for podman
  std::string image;     // an id, or a reference
  std::string image_id;  // see RunState
  std::string network;   // podman's name of it
  std::string address;
  std::string mac;
  std::vector<std::string> aliases;  // names by which others of the network find it
  std::filesystem::path log;
  std::filesystem::path volumes;  // below it each emptyDir volume has a directory of its name
};

// The limits of memory, CPU and processes that the container's spec asks for, as far as the machine
// can hold containers to them (libpod's LinuxResources).
Json resource_limits(const Json& spec, const Machine& machine);

// A container may have so many processes and threads.
inline constexpr int most_processes = 1'024;

struct CreateRequest {
  Json body;
  std::vector<std::filesystem::path> directories;  // that have to exist before
  std::string refusal;  // if it isn't empty, the container asks for what this node doesn't have
};
// The body of POST /libpod/containers/create (libpod's SpecGenerator).
CreateRequest create_request(const Run& run, const StartRequest& request, const Placement& place,
                             const Machine& machine);

}  // namespace berth::embedded::podman
