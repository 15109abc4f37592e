// How many containers the processes of a deployment have: show and change it.
#include <algorithm>
#include <charconv>

#include "cli/commands/commands.h"
#include "controller/base/processes.h"

namespace berth::cli {
namespace {

constexpr const char* web = deployments::web_process;

struct ScaleFlags {
  std::string name;
  std::vector<std::string> numbers;  // 3, or worker=2
  std::optional<int> min;
  std::optional<int> max;
  std::optional<int> in_flight;
  WaitFlags waiting;

  bool has_limits() const { return min || max || in_flight; }
};

int number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 ||
      number > deployments::max_replicas)
    throw Failure(Exit::usage,
                  "\"" + std::string(text) + "\" is no number of containers from 1 to " +
                      std::to_string(deployments::max_replicas),
                  "A deployment without containers is one that is stopped: `berth deploy stop`.");
  return number;
}

// The processes of an answer, with web, which is there alone if no others are named.
json processes_in(const json& deployment) {
  json all = deployment.value("processes", json::object());
  if (!all.is_object() || all.empty()) all = {{web, json::object()}};
  return all;
}

// What an order's change says of the number of containers.
class NumbersChange {
 public:
  explicit NumbersChange(const json& deployment)
      : deployment_(deployment), processes_(deployment.value("processes", json::object())) {
    if (!processes_.is_object()) processes_ = json::object();
  }

  void set_replicas(const std::string& process, int number) {
    if (is_own(process)) {
      own_["replicas"] = number;
      own_["scale"] = nullptr;
      return;
    }
    json& entry = entry_of(process);
    entry["replicas"] = number;
    entry.erase("scale");
  }

  void set_scale(const json& scale) {
    if (is_own(web)) {
      own_["scale"] = scale;
      return;
    }
    json& entry = entry_of(web);
    entry["scale"] = scale;
    entry.erase("replicas");
  }

  // The body of the PATCH.
  json body() const {
    json body = own_;
    if (is_changed_) body["processes"] = processes_;
    return body;
  }

 private:
  // Whether the deployment's own fields decide: of web, as long as its entry doesn't.
  bool is_own(const std::string& process) const {
    if (process != web) return false;
    if (processes_.empty()) return true;
    const auto entry = processes_.find(process);
    return entry != processes_.end() && entry->value("replicas", json()).is_null() &&
           entry->value("scale", json()).is_null();
  }
  json& entry_of(const std::string& process) {
    if (!processes_.contains(process)) {
      std::string names;
      const json known = processes_in(deployment_);
      for (const auto& each : known.items()) names += (names.empty() ? "" : ", ") + each.key();
      throw Failure(Exit::usage, "the deployment has no process " + process,
                    "It has " + names + ".");
    }
    is_changed_ = true;
    return processes_[process];
  }

  const json& deployment_;
  json processes_;
  json own_ = json::object();
  bool is_changed_ = false;
};

json scale_of(const json& deployment, const std::string& process) {
  const json entry = processes_in(deployment).value(process, json::object());
  const json own = entry.value("scale", json());
  const bool has_number = !entry.value("replicas", json()).is_null();
  return process == web && own.is_null() && !has_number ? deployment.value("scale", json()) : own;
}

json wanted_of(const json& deployment, const std::string& process) {
  const json scale = scale_of(deployment, process);
  if (!scale.is_null()) {
    const json now = deployment.value("scaled_to", json());
    return now.is_null() ? scale.value("min", json(1)) : now;
  }
  const json own =
      processes_in(deployment).value(process, json::object()).value("replicas", json());
  if (!own.is_null()) return own;
  return process == web ? deployment.value("replicas", json(1)) : json(1);
}

json with_limits(const ScaleFlags& flags, const json& deployment) {
  json scale = scale_of(deployment, web);
  if (scale.is_null()) {
    if (!flags.max || !flags.in_flight)
      throw Failure(Exit::usage, "--max and --in-flight are needed",
                    "For instance `berth scale " + flags.name + " --max 5 --in-flight 20`.");
    scale = {{"min", 1}};
  }
  if (flags.min) scale["min"] = *flags.min;
  if (flags.max) scale["max"] = *flags.max;
  if (flags.in_flight) scale["in_flight"] = *flags.in_flight;
  return scale;
}

void change(Run& run, const ScaleFlags& flags) {
  const std::string path = deployment_path(run.api(), flags.name);
  const json deployment = run.api().get(path);
  NumbersChange change(deployment);
  for (const std::string& text : flags.numbers) {
    const size_t at = text.find('=');
    const bool is_named = at != std::string::npos;
    change.set_replicas(is_named ? text.substr(0, at) : web,
                        number_of(is_named ? std::string_view(text).substr(at + 1) : text));
  }
  if (flags.has_limits()) change.set_scale(with_limits(flags, deployment));
  const json answer = run.api().call({.method = "PATCH", .path = path, .body = change.body()});
  show_change(run, answer, flags.waiting,
              "It will have what was asked for in a moment; `berth scale " + flags.name +
                  "` shows how many containers are ready.");
}

// Of what is ready, only the newest instances are known.
int ready_of(const json& instances, const std::string& process) {
  return int(std::ranges::count_if(instances, [&](const json& each) {
    return each.value("ready", false) && each.value("process", std::string(web)) == process;
  }));
}

void show(Run& run, const ScaleFlags& flags) {
  const json deployment = run.api().get(deployment_path(run.api(), flags.name));
  const json instances =
      run.api().get(deployment_path(run.api(), flags.name, "/instances")).at("instances");
  json rows = json::array();
  const json processes = processes_in(deployment);
  for (const auto& each : processes.items()) {
    const std::string& process = each.key();
    const json scale = scale_of(deployment, process);
    json row = {{"process", process},
                {"wanted", wanted_of(deployment, process)},
                {"ready", ready_of(instances, process)},
                {"in_flight", nullptr},
                {"scale", scale}};
    if (!scale.is_null())
      row["in_flight"] = run.api()
                             .get(deployment_path(run.api(), flags.name, "/metrics"))
                             .value("in_flight", json());
    rows.push_back(std::move(row));
  }
  json shown = rows;
  for (json& row : shown)
    if (const json& scale = row["scale"]; !scale.is_null())
      row["scale"] = cell(scale, "min") + " to " + cell(scale, "max") + ", " +
                     cell(scale, "in_flight") + " in flight each";
  run.out().list({{"processes", rows}}, shown,
                 {{"PROCESS", "process"},
                  {"WANTED", "wanted"},
                  {"READY", "ready"},
                  {"IN FLIGHT", "in_flight"},
                  {"BY REQUESTS", "scale"}});
}

void run_scale(Run& run, const ScaleFlags& flags) {
  if (flags.numbers.empty() && !flags.has_limits())
    show(run, flags);
  else
    change(run, flags);
}

}  // namespace

void add_scale_command(CLI::App& parent, Run& run) {
  const auto flags = std::make_shared<ScaleFlags>();
  CLI::App* command =
      add_command(parent, "scale", "Show or change how many containers a deployment has",
                  path_in(parent) + "scale hello 3", [&run, flags] { run_scale(run, *flags); });
  add_deployment(*command, flags->name);
  CLI::Option* numbers = command->add_option(
      "NUMBER", flags->numbers,
      "Number of containers, of web or as PROCESS=NUMBER; without any, the present ones are shown");
  const auto add_limit = [&](const char* name, std::optional<int>& to, int most, const char* help) {
    command->add_option(name, to, help)->check(CLI::Range(1, most))->excludes(numbers);
  };
  add_limit("--min", flags->min, deployments::max_replicas, "Least number of containers of web");
  add_limit("--max", flags->max, deployments::max_replicas,
            "Greatest number of containers of web, by the requests in flight");
  add_limit("--in-flight", flags->in_flight, deployments::max_in_flight,
            "How many requests at once one container is to have at most");
  add_wait(*command, flags->waiting);
}

}  // namespace berth::cli
