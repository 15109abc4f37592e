#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The processes of a deployment, what each of them runs and how often, and its commands at set
// times. All of them run the deployment's image with the deployment's variables.
namespace berth::deployments {

using Texts = std::vector<std::string>;

// The process that the deployment's names lead to. It is the only one that may have a port.
inline constexpr const char* web_process = "web";

inline constexpr std::size_t max_processes = 10;
inline constexpr std::size_t max_crons = 20;
// Of a process and of a cron. Their names become parts of the names of objects and pods.
inline constexpr std::size_t max_process_name_length = 20;
// Whether it can be the name of a process or a cron: a part of the names of objects and pods
// (RFC 1123), which begins with a letter.
bool is_process_name(std::string_view name);
// Tiers allow less (tiers::Tier::max_replicas).
inline constexpr int max_replicas = 100;
inline constexpr int max_in_flight = 10'000;
inline constexpr std::size_t max_schedule_length = 100;
inline constexpr std::size_t max_zone_length = 64;

// How many containers a process has is decided by the requests that are in flight: so many that
// each one has at most `in_flight` of them.
struct Scale {
  int min = 1;
  int max = 1;
  int in_flight = 1;
  bool operator==(const Scale&) const = default;
};

// One entry of the field `processes`, as it was asked for. Of `web`, what isn't set is what the
// deployment's own fields of the same names say; of another process, it is the image's own, and one
// container.
struct Process {
  std::optional<Texts> command = {};
  std::optional<Texts> args = {};
  // Whether the entry says anything of a port: null makes web a process without one.
  bool names_port = false;
  std::optional<int> port = {};
  std::optional<int> replicas = {};
  std::optional<Scale> scale = {};
  // The limits of each container; the tier's if they aren't set, and never above those.
  std::optional<int> memory_mb = {};
  std::optional<int> cpu_millicores = {};
  bool operator==(const Process&) const = default;
};
using Processes = std::map<std::string, Process>;

// A command that runs at set times.
struct Cron {
  std::string name;
  std::string schedule;      // five fields (crontab(5))
  std::string zone = "UTC";  // the name of a time zone (IANA)
  Texts command;
  // The process whose size and place the run has; empty for web.
  std::string process = {};
  bool operator==(const Cron&) const = default;
};
using Crons = std::vector<Cron>;

// The JSON forms, as in requests, answers and columns. Reading needs the types of the published
// schema, and throws nlohmann::json::exception otherwise.
void to_json(nlohmann::json& to, const Scale& scale);
void from_json(const nlohmann::json& from, Scale& scale);
void to_json(nlohmann::json& to, const Process& process);
void from_json(const nlohmann::json& from, Process& process);
void to_json(nlohmann::json& to, const Cron& cron);
void from_json(const nlohmann::json& from, Cron& cron);

}  // namespace berth::deployments
