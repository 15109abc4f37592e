#include "reconcilers/embedded/node/podman/builder.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/log.h"
#include "controller/base/source_archive.h"
#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/containerfile.h"
#include "reconcilers/embedded/node/podman/build_network.h"
#include "reconcilers/embedded/node/podman/build_watch.h"
#include "reconcilers/embedded/node/podman/confinement.h"
#include "reconcilers/embedded/node/podman/service.h"
#include "reconcilers/embedded/node/podman/words.h"
#include "reconcilers/embedded/node/unix_http.h"

namespace berth::embedded::podman {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* build_label = "berth.build";

constexpr int most_processes_of_build = 1'024;
constexpr int most_open_files = 4'096;
constexpr int users_of_build = 65'536;
constexpr auto longest_pull_of_base = 10min;
constexpr std::size_t block_of_source = 64 * 1024;
constexpr std::size_t most_of_a_line = std::size_t{1} << 20;
// How long layers of builds that failed are kept, since the next try may use them.
constexpr const char* unused_layers_for = "24h";

// Steps begin as root of their namespace. The other capabilities let them install packages and
// change owners there.
constexpr const char* dropped_capabilities =
    R"(["CAP_NET_RAW","CAP_NET_BIND_SERVICE","CAP_MKNOD","CAP_AUDIT_WRITE","CAP_SETPCAP"])";

using Query = std::vector<std::pair<std::string, std::string>>;

std::string query_text(const Query& values) {
  std::string query;
  for (const auto& [name, value] : values)
    query += (query.empty() ? "?" : "&") + name + "=" + percent_encode(value);
  return query;
}

std::string error_in(const std::string& body) {
  const json answer = json::parse(body, nullptr, false);
  if (!answer.is_object()) return body.substr(0, 500);
  for (const char* name : {"cause", "error", "message"})
    if (const auto found = answer.find(name); found != answer.end() && found->is_string())
      return found->get<std::string>();
  return "unknown error";
}

// Reads what podman streams: JSON objects, one a line, with words for the log, or an error.
class BuildStream {
 public:
  explicit BuildStream(const BuildLog& log) : log_(log) {}
  bool feed(std::string_view piece) {
    rest_ += piece;
    std::size_t begin = 0;
    for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      take(json::parse(rest_.substr(begin, end - begin), nullptr, false));
    rest_.erase(0, begin);
    if (rest_.size() > most_of_a_line) rest_.clear();
    return true;
  }
  const std::string& error() const { return error_; }
  // Whether the first process of a step was killed.
  bool was_killed() const { return was_killed_; }

 private:
  void take(const json& line) {
    if (!line.is_object()) return;
    if (const auto text = line.find("stream"); text != line.end() && text->is_string()) {
      const std::string words = *text;
      was_killed_ = was_killed_ || words.find("container exited on killed") != std::string::npos;
      log_(words);
    }
    if (const auto error = line.find("error"); error != line.end() && error->is_string())
      error_ = error->get<std::string>();
  }

  const BuildLog& log_;
  std::string rest_;
  std::string error_;
  bool was_killed_ = false;
};

// The app of a repository localhost/APP/NAME.
std::string app_of(const std::string& repository) {
  const std::size_t first = repository.find('/') + 1;
  return repository.substr(first, repository.find('/', first) - first);
}

Built failed_build(BuildFailure failure, std::string message) {
  return {
      .kind = Built::Kind::failed, .image = {}, .failure = failure, .message = std::move(message)};
}

Built ended_by(BuildWatch::Why why, const BuildOrder::Limits& limits) {
  if (why == BuildWatch::Why::timed_out)
    return failed_build(
        BuildFailure::timed_out,
        "the build took longer than " + std::to_string(limits.time.count()) + " seconds");
  if (why == BuildWatch::Why::out_of_room)
    return failed_build(BuildFailure::out_of_room,
                        "the build wrote more than twice what an image may have, or the machine's "
                        "disk is nearly full");
  return {.kind = Built::Kind::stopped};
}

Built failure_of(std::string words, bool was_killed) {
  while (words.ends_with('\n')) words.pop_back();
  constexpr std::string_view start = "building at ";
  if (words.starts_with(start)) words.erase(0, start.size());
  constexpr std::string_view killed = "exit status 137";
  if (was_killed || words.ends_with(killed))
    return failed_build(BuildFailure::out_of_memory,
                        words + ": it was killed, probably because it used up its memory");
  return failed_build(BuildFailure::build_failed, words);
}

void rewrite(const fs::path& from, const fs::path& to, const std::string& containerfile,
             const std::string& instructions) {
  source::Reader reader(from);
  source::Writer writer(to, source::Compression::none);
  while (const auto entry = reader.next()) {
    if (entry->path == containerfile)
      writer.add(*entry, instructions);
    else
      writer.add(*entry, [&](char* data, std::size_t size) { return reader.read(data, size); });
  }
  writer.close();
}

Query build_query(const BuildOrder& order, const std::string& containerfile,
                  const fs::path& calls) {
  constexpr std::int64_t period_us = 100'000;
  constexpr std::int64_t full_cpu = 1'000;
  const auto limit = [](const std::string& name, std::int64_t most) {
    return name + "=" + std::to_string(most) + ":" + std::to_string(most);
  };
  const json users = json::array({{{"containerID", 0}, {"hostID", 0}, {"size", users_of_build}}});
  const json namespaces =
      json::array({{{"Name", "user"}, {"Host", false}},
                   {{"Name", "network"}, {"Host", false}, {"Path", build_network}}});
  const json ids = {
      {"HostUIDMapping", false}, {"HostGIDMapping", false}, {"UIDMap", users}, {"GIDMap", users}};
  const json ulimits =
      json::array({limit("nofile", most_open_files), limit("nproc", most_processes_of_build),
                   limit("fsize", order.limits.image_bytes), limit("core", 0),
                   limit("locks", BuildWatch::mark_of(order.id))});
  const std::string memory = std::to_string(order.limits.memory_bytes);
  json security = json::array();
  if (fs::exists(calls)) security.push_back("seccomp=" + calls.string());
  return {{"dockerfile", containerfile},
          {"t", order.repository + ":" + order.id},
          {"labels", json{{build_label, order.id}}.dump()},
          {"layers", "true"},
          // Steps are found in the cache by it.
          {"outputformat", "application/vnd.oci.image.manifest.v1+json"},
          {"rm", "true"},
          {"forcerm", "true"},
          {"pullpolicy", "never"},
          {"nsoptions", namespaces.dump()},
          {"idmappingoptions", ids.dump()},
          {"dnsservers", json::array({build_gateway}).dump()},
          {"dropcaps", dropped_capabilities},
          {"memory", memory},
          {"memswap", memory},
          {"cpuperiod", std::to_string(period_us)},
          {"cpuquota", std::to_string(period_us * order.limits.cpu_millicores / full_cpu)},
          {"ulimits", ulimits.dump()},
          {"securityopt", security.dump()}};
}

class PodmanBuilder final : public Builder {
 public:
  explicit PodmanBuilder(BuilderOptions options)
      : options_(std::move(options)), http_(options_.socket.string(), "podman") {}

  Built build(const BuildOrder& order, const BuildLog& log, std::stop_token stop) override;
  void remove(const std::string& image) override;
  std::vector<std::string> images() override;
  void clean_up() override;

 private:
  UnixAnswer call(const std::string& method, const std::string& target,
                  const std::string& body = {}) const {
    return http_.call({.method = method, .target = libpod_api + target, .body = body});
  }
  // Returns whether builds have a way to the internet.
  bool ensure_network();
  Built take_base(const std::string& image, const BuildLog& log, BuildWatch& watch) const;
  Built run_build(const BuildOrder& order, const std::string& containerfile, const fs::path& source,
                  const BuildLog& log, BuildWatch& watch) const;
  Built look_at_image(const BuildOrder& order) const;

  const BuilderOptions options_;
  const UnixHttp http_;
  std::mutex network_mutex_;
};

Built PodmanBuilder::build(const BuildOrder& order, const BuildLog& log, std::stop_token stop) {
  const source::Contents contents = source::examine(order.source);
  const Containerfile instructions = Containerfile::parse(contents.containerfile_text);
  if (const std::string wrong = instructions.refusal(order.registries); !wrong.empty())
    return failed_build(BuildFailure::containerfile_wrong, wrong);
  const bool has_way_out = ensure_network();
  const fs::path plain = order.source.string() + ".tar";
  BuildWatch watch({.directory = options_.directory,
                    .build = order.id,
                    .limits = order.limits,
                    .keeps_rules = has_way_out},
                   std::move(stop));
  try {
    for (const std::string& base : instructions.bases())
      if (Built failed = take_base(base, log, watch); !failed.message.empty()) return failed;
    rewrite(order.source, plain, contents.containerfile,
            instructions.to_text(app_of(order.repository)));
    const Built built = run_build(order, contents.containerfile, plain, log, watch);
    fs::remove(plain);
    return built;
  } catch (const UnixHttpError&) {
    std::error_code ignored;
    fs::remove(plain, ignored);
    if (watch.why() == BuildWatch::Why::nothing) throw;
    return ended_by(watch.why(), order.limits);
  }
}

void PodmanBuilder::remove(const std::string& image) {
  const UnixAnswer known = call("GET", "/images/" + percent_encode(image) + "/json");
  if (!known.good()) return;
  const UnixAnswer removed =
      call("DELETE", "/images/" + json::parse(known.body).at("Id").get<std::string>());
  // A container that is just being ended may have it; the next look at the images finds it again.
  constexpr int in_use = 409, gone = 404;
  if (!removed.good() && removed.status != in_use && removed.status != gone)
    throw std::runtime_error("podman: " + error_in(removed.body));
}

std::vector<std::string> PodmanBuilder::images() {
  const json filters = {{"label", {build_label}}};
  const UnixAnswer answer = call("GET", "/images/json" + query_text({{"filters", filters.dump()}}));
  if (!answer.good()) throw std::runtime_error("podman: " + error_in(answer.body));
  std::vector<std::string> names;
  for (const json& image : json::parse(answer.body)) {
    const auto digests = image.find("RepoDigests");
    if (digests == image.end() || !digests->is_array()) continue;
    for (const json& name : *digests)
      if (name.is_string() && name.get<std::string>().starts_with("localhost/"))
        names.push_back(name);
  }
  return names;
}

void PodmanBuilder::clean_up() {
  BuildWatch::kill_steps(options_.directory);
  const UnixAnswer answer = call("GET", "/containers/json?all=true&external=true");
  if (!answer.good()) throw std::runtime_error("podman: " + error_in(answer.body));
  for (const json& container : json::parse(answer.body))
    if (container.value("Command", json()) == json::array({"buildah"}))
      call("DELETE", "/containers/" + container.at("Id").get<std::string>() + "?force=true");
  const json filters = {{"dangling", {"true"}}, {"until", {unused_layers_for}}};
  call("POST", "/images/prune" + query_text({{"filters", filters.dump()}}));
}

// Without nft's rules, builds have no way out at all. The rules are set for each build, because the
// machine may have been booted, or somebody may have removed them.
bool PodmanBuilder::ensure_network() {
  const std::lock_guard lock(network_mutex_);
  const std::string trouble = set_rules_of_builds();
  const bool has_way_out = trouble.empty();
  if (!has_way_out)
    log::warning("builds have no network, because nft can't set its rules", {{"error", trouble}});
  const std::string path = std::string("/networks/") + build_network;
  if (const UnixAnswer known = call("GET", path + "/json"); known.good()) {
    const bool is_internal = json::parse(known.body).value("internal", false);
    if (is_internal != has_way_out) return has_way_out;
    // One that something is being built in stays.
    if (!call("DELETE", path).good()) {
      if (is_internal) return false;
      throw std::runtime_error("the rules of the builds' network can't be set: " + trouble);
    }
  }
  const json wanted = {{"name", build_network},
                       {"driver", "bridge"},
                       {"network_interface", build_bridge},
                       {"subnets", {{{"subnet", build_range}}}},
                       {"dns_enabled", true},
                       {"internal", !has_way_out},
                       {"options", {{"isolate", "true"}}}};
  const UnixAnswer made = call("POST", "/networks/create", wanted.dump());
  if (!made.good()) throw std::runtime_error("podman: " + error_in(made.body));
  return has_way_out;
}

// Pulls a base image, unless it is there and no newer one can be had. The result has a message if
// the build can't go on.
Built PodmanBuilder::take_base(const std::string& image, const BuildLog& log,
                               BuildWatch& watch) const {
  BuildStream stream(log);
  const UnixAnswer pulled =
      http_.call({.method = "POST",
                  .target = libpod_api + "/images/pull" +
                            query_text({{"reference", image},
                                        {"policy", "newer"},
                                        {"tlsVerify", is_loopback(image) ? "false" : "true"}}),
                  .receive = [&](std::string_view piece) { return stream.feed(piece); },
                  .silence = longest_pull_of_base,
                  .cancel = &watch.cancel()});
  const UnixAnswer known = call("GET", "/images/" + percent_encode(image) + "/json");
  if (!known.good())
    return failed_build(BuildFailure::image_pull_failed,
                        "the base image " + image + " can't be pulled: " +
                            (stream.error().empty() ? error_in(pulled.body) : stream.error()));
  const json about = json::parse(known.body);
  const json config = about.value("Config", json());
  const json triggers = config.is_object() ? config.value("OnBuild", json()) : json();
  if (triggers.is_array() && !triggers.empty())
    return failed_build(BuildFailure::containerfile_wrong,
                        "the base image " + image +
                            " has instructions for its children (ONBUILD), which aren't supported");
  return {};
}

Built PodmanBuilder::run_build(const BuildOrder& order, const std::string& containerfile,
                               const fs::path& source, const BuildLog& log,
                               BuildWatch& watch) const {
  std::ifstream in(source, std::ios::binary);
  BuildStream stream(log);
  const UnixAnswer answer = http_.call(
      {.method = "POST",
       .target = libpod_api + "/build" +
                 query_text(build_query(order, containerfile, options_.directory / calls_file)),
       .content_type = "application/x-tar",
       .source =
           [&] {
             std::string block(block_of_source, '\0');
             in.read(block.data(), std::streamsize(block.size()));
             block.resize(std::size_t(in.gcount()));
             return block;
           },
       .receive = [&](std::string_view piece) { return stream.feed(piece); },
       .silence = order.limits.time + 1min,
       .cancel = &watch.cancel()});
  if (watch.why() != BuildWatch::Why::nothing) return ended_by(watch.why(), order.limits);
  if (!answer.good()) return failure_of(error_in(answer.body), false);
  if (!stream.error().empty()) return failure_of(stream.error(), stream.was_killed());
  return look_at_image(order);
}

Built PodmanBuilder::look_at_image(const BuildOrder& order) const {
  const std::string name = order.repository + ":" + order.id;
  const UnixAnswer answer = call("GET", "/images/" + percent_encode(name) + "/json");
  if (!answer.good()) throw std::runtime_error(" podman built" + name + " and lost it");
  const json about = json::parse(answer.body);
  const std::int64_t bytes = about.at("Size");
  if (bytes > order.limits.image_bytes) {
    call("DELETE", "/images/" + about.at("Id").get<std::string>());
    return failed_build(BuildFailure::out_of_room, "the image has " + std::to_string(bytes) +
                                                       " bytes, and may have " +
                                                       std::to_string(order.limits.image_bytes));
  }
  return {.kind = Built::Kind::built,
          .image = order.repository + "@" + about.at("Digest").get<std::string>(),
          .image_bytes = bytes,
          .message = {}};
}

}  // namespace

std::unique_ptr<Builder> make_builder(const BuilderOptions& options) {
  return std::make_unique<PodmanBuilder>(options);
}

}  // namespace berth::embedded::podman
