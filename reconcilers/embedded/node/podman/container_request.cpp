#include "reconcilers/embedded/node/podman/container_request.h"

#include <algorithm>

#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/quantity.h"

namespace berth::embedded::podman {
namespace {

// The period of the processor's quota, in microseconds (cpu.cfs_period_us).
constexpr std::int64_t cpu_period = 100'000;
constexpr std::int64_t least_cpu_quota = 1'000;
constexpr std::int64_t least_cpu_shares = 2;
constexpr size_t longest_host_name = 63;
// If the machine's memory is exhausted, a container is ended before the machine's own services.
constexpr int oom_score = 500;

std::uint64_t bytes_of(const Json& quantity) {
  const auto parsed = quantity_of(quantity);
  return parsed ? std::uint64_t(std::max<std::int64_t>(parsed->milli() / 1000, 0)) : 0;
}

// A field of the container's securityContext, or else of the pod's.
const Json& security(const Json& pod, const Json& spec, const char* field) {
  const Json& own = at_path(spec, (std::string("/securityContext/") + field).c_str());
  return own.is_null() ? at_path(pod, (std::string("/spec/securityContext/") + field).c_str())
                       : own;
}

void add_user(Json& body, const Json& pod, const Json& spec) {
  const Json& user = security(pod, spec, "runAsUser");
  const Json& group = security(pod, spec, "runAsGroup");
  if (user.is_number_integer())
    body["user"] = user.dump() + (group.is_number_integer() ? ":" + group.dump() : "");
  Json groups = Json::array();
  const Json& shared = at_path(pod, "/spec/securityContext/fsGroup");
  if (shared.is_number_integer()) groups.push_back(shared.dump());
  for (const Json& one : at_path(pod, "/spec/securityContext/supplementalGroups"))
    if (one.is_number_integer()) groups.push_back(one.dump());
  if (!groups.empty()) body["groups"] = groups;
}

void add_privileges(Json& body, const Json& pod, const Json& spec, const Machine& machine) {
  body["cap_drop"] = Json::array();
  for (const Json& name : at_path(spec, "/securityContext/capabilities/drop"))
    body["cap_drop"].push_back(name);
  for (const Json& name : at_path(spec, "/securityContext/capabilities/add"))
    body["cap_add"].push_back(name);
  body["no_new_privileges"] = at_path(spec, "/securityContext/allowPrivilegeEscalation") == false;
  body["read_only_filesystem"] = at_path(spec, "/securityContext/readOnlyRootFilesystem") == true;
  for (const Json& one : at_path(pod, "/spec/securityContext/sysctls"))
    body["sysctl"][text_at(one, "name")] = text_at(one, "value");
  // The container's users are none of the machine's, whatever the pod asks for.
  body["userns"] = {{"nsmode", "auto"}};
  Json options = Json::object();
  if (machine.users_of_a_container > 0) options["Size"] = machine.users_of_a_container;
  body["idmappings"] = {{"AutoUserNs", true}, {"AutoUserNsOpts", options}};
}

// Whether the volume is made of tokens for others than the API server, which has none here.
bool has_tokens_alone(const Json& volume) {
  const Json& sources = at_path(volume, "/projected/sources");
  return sources.is_array() && !sources.empty() &&
         std::ranges::all_of(sources, [](const Json& source) {
           return !text_at(at_path(source, "/serviceAccountToken"), "audience").empty();
         });
}

void add_volumes(CreateRequest& request, const Json& pod, const Json& spec,
                 const Placement& place) {
  for (const Json& mount : at_path(spec, "/volumeMounts")) {
    const std::string name = text_at(mount, "name");
    const Json& volumes = at_path(pod, "/spec/volumes");
    const auto volume = std::find_if(volumes.begin(), volumes.end(),
                                     [&](const Json& one) { return text_at(one, "name") == name; });
    // The kubelet has written the tokens before. Only berthd writes there, so the container sees
    // them as files of somebody else, and can't change them.
    if (volume != volumes.end() && has_tokens_alone(*volume)) {
      request.body["mounts"].push_back({{"destination", text_at(mount, "mountPath")},
                                        {"type", "bind"},
                                        {"source", (place.volumes / name).string()},
                                        {"options", {"rbind", "nosuid", "nodev", "noexec", "ro"}}});
      continue;
    }
    if (volume == volumes.end() || !volume->contains("emptyDir")) {
      request.refusal = "the volume \"" + name + "\" is of a kind that this node doesn't have";
      return;
    }
    const std::uint64_t limit = bytes_of(at_path(*volume, "/emptyDir/sizeLimit"));
    const bool read_only = at_path(mount, "/readOnly") == true;
    if (at_path(*volume, "/emptyDir/medium") == "Memory") {
      Json options = {"nosuid", "nodev", "mode=1777"};
      if (limit > 0) options.push_back("size=" + std::to_string(limit));
      request.body["mounts"].push_back({{"destination", text_at(mount, "mountPath")},
                                        {"type", "tmpfs"},
                                        {"source", "tmpfs"},
                                        {"options", options}});
      continue;
    }
    const std::filesystem::path directory = place.volumes / name;
    request.directories.push_back(directory);
    // U: the directory and what is in it get the container's user for their owner.
    Json options = {"rbind", "nosuid", "nodev", "U", read_only ? "ro" : "rw"};
    request.body["mounts"].push_back({{"destination", text_at(mount, "mountPath")},
                                      {"type", "bind"},
                                      {"source", directory.string()},
                                      {"options", options}});
  }
}

}  // namespace

Json resource_limits(const Json& spec, const Machine& machine) {
  Json limits = Json::object();
  const auto cpu = quantity_of(at_path(spec, "/resources/limits/cpu"));
  const auto share = quantity_of(at_path(spec, "/resources/requests/cpu"));
  if (machine.limits_cpu) {
    if (cpu) {
      limits["cpu"]["period"] = cpu_period;
      limits["cpu"]["quota"] = std::max(cpu->milli() * cpu_period / 1000, least_cpu_quota);
    }
    if (share) limits["cpu"]["shares"] = std::max(share->milli() * 1024 / 1000, least_cpu_shares);
  }
  const std::uint64_t memory = bytes_of(at_path(spec, "/resources/limits/memory"));
  if (machine.limits_memory && memory > 0) limits["memory"] = {{"limit", memory}, {"swap", memory}};
  if (machine.limits_pids) limits["pids"] = {{"limit", most_processes}};
  return limits;
}

PodFacts facts_of(const Json& pod, const Json& spec) {
  PodFacts facts;
  const Json& labels = at_path(pod, "/metadata/labels");
  if (labels.is_object())
    for (const auto& [name, value] : labels.items())
      if (value.is_string()) facts.labels[name] = value.get<std::string>();
  for (const Json& volume : at_path(pod, "/spec/volumes"))
    if (volume.contains("emptyDir") && at_path(volume, "/emptyDir/medium") != "Memory")
      facts.volume_limits[text_at(volume, "name")] =
          bytes_of(at_path(volume, "/emptyDir/sizeLimit"));
  facts.disk_limit = bytes_of(at_path(spec, "/resources/limits/ephemeral-storage"));
  for (const Json& port : at_path(spec, "/ports"))
    facts.ports.push_back(int(number_at(port, "/containerPort", 0)));
  return facts;
}

Json to_json(const PodFacts& facts) {
  return {{"labels", facts.labels},
          {"volumes", facts.volume_limits},
          {"disk", facts.disk_limit},
          {"image", facts.image_id},
          {"ports", facts.ports}};
}

PodFacts pod_facts(const Json& json) {
  PodFacts facts;
  try {
    json.at("labels").get_to(facts.labels);
    json.at("volumes").get_to(facts.volume_limits);
    json.at("disk").get_to(facts.disk_limit);
    json.at("image").get_to(facts.image_id);
    json.at("ports").get_to(facts.ports);
  } catch (const Json::exception&) {
    // A container of another version of berth: what is missing isn't known.
  }
  return facts;
}

CreateRequest create_request(const Run& run, const StartRequest& request, const Placement& place,
                             const Machine& machine) {
  CreateRequest made;
  Json& body = made.body;
  const Json& spec = request.spec;
  body["name"] = place.name;
  body["image"] = place.image;
  body["hostname"] = run.pod.substr(0, longest_host_name);
  body["env"] = request.env;
  body["unsetenv"] = {"container", "TERM"};
  if (!request.command.empty()) body["entrypoint"] = request.command;
  if (!request.args.empty()) body["command"] = request.args;
  if (const std::string directory = text_at(spec, "workingDir"); !directory.empty())
    body["work_dir"] = directory;
  add_user(body, request.pod, spec);
  add_privileges(body, request.pod, spec, machine);
  body["resource_limits"] = resource_limits(spec, machine);
  body["oom_score_adj"] = oom_score;
  body["restart_policy"] = "no";
  body["systemd"] = "false";
  body["image_volume_mode"] = "ignore";
  // Its size is bounded by containers.conf.
  body["log_configuration"] = {{"driver", "k8s-file"}, {"path", place.log.string()}};
  made.directories.push_back(place.log.parent_path());
  body["netns"] = {{"nsmode", "bridge"}};
  Json network = {{"static_ips", {place.address}}, {"aliases", place.aliases}};
  if (!place.mac.empty()) network["static_mac"] = place.mac;
  body["networks"] = {{place.network, network}};
  if (!machine.root)
    for (const Json& port : at_path(spec, "/ports"))
      body["portmappings"].push_back({{"container_port", number_at(port, "/containerPort", 0)},
                                      {"host_ip", "127.0.0.1"},
                                      {"protocol", "tcp"}});
  PodFacts facts = facts_of(request.pod, spec);
  facts.image_id = place.image_id;
  body["labels"] = {{instance_label, place.instance},
                    {namespace_label, run.name_space},
                    {pod_label, run.pod},
                    {uid_label, run.uid},
                    {container_label, run.container},
                    {run_label, std::to_string(run.number)},
                    {address_label, place.address},
                    {image_label, text_at(spec, "image")},
                    {facts_label, to_json(facts).dump()}};
  add_volumes(made, request.pod, spec, place);
  return made;
}

}  // namespace berth::embedded::podman
