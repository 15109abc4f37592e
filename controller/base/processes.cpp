#include "controller/base/processes.h"

#include <algorithm>

namespace berth::deployments {
namespace {

using nlohmann::json;

template <typename Value>
void put(json& to, const char* name, const std::optional<Value>& value) {
  if (value) to[name] = *value;
}

template <typename Value>
void take(const json& from, const char* name, std::optional<Value>& value) {
  const auto found = from.find(name);
  if (found == from.end() || found->is_null())
    value.reset();
  else
    value = found->get<Value>();
}

}  // namespace

bool is_process_name(std::string_view name) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && name.size() <= max_process_name_length && letter(name.front()) &&
         name.back() != '-' &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c) || c == '-'; });
}

void to_json(json& to, const Scale& scale) {
  to = {{"min", scale.min}, {"max", scale.max}, {"in_flight", scale.in_flight}};
}

void from_json(const json& from, Scale& scale) {
  scale.min = from.value("min", 1);
  scale.max = from.at("max").get<int>();
  scale.in_flight = from.at("in_flight").get<int>();
}

void to_json(json& to, const Process& process) {
  to = json::object();
  put(to, "command", process.command);
  put(to, "args", process.args);
  if (process.names_port) to["port"] = process.port ? json(*process.port) : json();
  put(to, "replicas", process.replicas);
  put(to, "scale", process.scale);
  put(to, "memory_mb", process.memory_mb);
  put(to, "cpu_millicores", process.cpu_millicores);
}

void from_json(const json& from, Process& process) {
  take(from, "command", process.command);
  take(from, "args", process.args);
  process.names_port = from.contains("port");
  take(from, "port", process.port);
  take(from, "replicas", process.replicas);
  take(from, "scale", process.scale);
  take(from, "memory_mb", process.memory_mb);
  take(from, "cpu_millicores", process.cpu_millicores);
}

void to_json(json& to, const Cron& cron) {
  to = {{"name", cron.name},
        {"schedule", cron.schedule},
        {"zone", cron.zone},
        {"command", cron.command},
        {"process", cron.process.empty() ? json() : json(cron.process)}};
}

void from_json(const json& from, Cron& cron) {
  const auto text = [&](const char* name, const char* otherwise) {
    const auto found = from.find(name);
    return found == from.end() || found->is_null() ? otherwise : found->get<std::string>();
  };
  cron.name = from.at("name").get<std::string>();
  cron.schedule = from.at("schedule").get<std::string>();
  cron.zone = text("zone", "UTC");
  cron.command = from.at("command").get<Texts>();
  cron.process = text("process", "");
}

}  // namespace berth::deployments
