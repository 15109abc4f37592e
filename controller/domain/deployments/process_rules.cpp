#include "controller/domain/deployments/process_rules.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "controller/base/ascii.h"
#include "controller/domain/deployments/container.h"
#include "controller/domain/deployments/pushes.h"
#include "controller/domain/deployments/runs/cron_schedule.h"

namespace berth::deployments {
namespace {

constexpr const char* name_must =
    "must be a name of 1 to 20 lower-case letters, digits and hyphens, with a letter at its "
    "beginning and no hyphen at its end";

void check_words(const Texts& words, const std::string& field, Details& wrong) {
  ContainerSpec container;
  container.command = words;
  if (!is_within_limits(container, field_of(&ContainerSpec::command)))
    wrong[field].emplace_back(arguments_must);
}

void check_number(const std::optional<int>& number, int most, const std::string& field,
                  Details& wrong) {
  if (number && (*number < 1 || *number > most))
    wrong[field].push_back("must be between 1 and " + std::to_string(most));
}

void check_scale(const Scale& scale, const std::string& field, Details& wrong) {
  check_number(scale.min, max_replicas, field + ".min", wrong);
  check_number(scale.max, max_replicas, field + ".max", wrong);
  check_number(scale.in_flight, max_in_flight, field + ".in_flight", wrong);
  if (scale.min > scale.max) wrong[field + ".min"].push_back("must not be above max");
}

void check_process(const std::string& name, const Process& process, Details& wrong) {
  const std::string field = "processes." + name;
  if (process.command) check_words(*process.command, field + ".command", wrong);
  if (process.args) check_words(*process.args, field + ".args", wrong);
  check_number(process.port, max_port, field + ".port", wrong);
  if (name != web_process && process.port)
    wrong[field + ".port"].push_back(
        "must be null: only the process web has a port and is served; another one that listens "
        "needs a deployment of its own");
  check_number(process.replicas, max_replicas, field + ".replicas", wrong);
  if (process.scale) {
    check_scale(*process.scale, field + ".scale", wrong);
    if (process.replicas)
      wrong[field + ".scale"].push_back("and replicas exclude each other; send only one of them");
    if (name != web_process || (process.names_port && !process.port))
      wrong[field + ".scale"].push_back(
          "is only for the process web with a port, because it counts requests; use replicas");
  }
}

void check_schedule(const Cron& cron, const std::string& field, Details& wrong) {
  if (cron.schedule.size() > max_schedule_length) {
    wrong[field + ".schedule"].push_back("must have at most 100 characters");
    return;
  }
  try {
    crons::Schedule::parse(cron.schedule);
  } catch (const std::invalid_argument& refused) {
    wrong[field + ".schedule"].emplace_back(refused.what());
  }
  if (cron.zone.size() > max_zone_length || !crons::is_zone(cron.zone))
    wrong[field + ".zone"].push_back(
        "must be the name of a time zone, such as UTC or Europe/Berlin");
}

void check_crons(const ContainerSpec& container, Details& wrong) {
  if (container.crons.size() > max_crons) wrong["crons"].push_back("must have at most 20 commands");
  std::set<std::string> names;
  const auto processes = processes_of(container);
  for (std::size_t i = 0; i < container.crons.size(); ++i) {
    const Cron& cron = container.crons[i];
    const std::string field = "crons." + std::to_string(i);
    if (!is_process_name(cron.name)) wrong[field + ".name"].emplace_back(name_must);
    if (!names.insert(cron.name).second)
      wrong[field + ".name"].push_back("is the name of another one, too");
    check_schedule(cron, field, wrong);
    if (cron.command.empty()) wrong[field + ".command"].push_back("must have at least one word");
    check_words(cron.command, field + ".command", wrong);
    if (!cron.process.empty() &&
        std::ranges::find(processes, cron.process, &ProcessSpec::name) == processes.end())
      wrong[field + ".process"].push_back("must be the name of one of the processes");
  }
}

}  // namespace

void check_processes(const ContainerSpec& container, Details& wrong) {
  if (container.processes.size() > max_processes)
    wrong["processes"].push_back("must have at most 10 processes");
  for (const auto& [name, process] : container.processes) {
    if (is_process_name(name))
      check_process(name, process, wrong);
    else
      wrong["processes"].emplace_back(name_must);
  }
  if (container.auto_deploy && !pushes::has_tag(container.image))
    wrong["auto_deploy"].push_back(
        "needs an image with a tag in a registry, which a push can move; an image that is named by "
        "its digest alone, or was built here, never changes");
  if (container.scale) check_scale(*container.scale, "scale", wrong);
  check_crons(container, wrong);
}

void check_size(const ContainerSpec& container, const tiers::Tier& tier) {
  Details wrong;
  const bool has_processes = !container.processes.empty();
  if (const int most = most_replicas(container); most > tier.max_replicas) {
    const char* field = has_processes ? "processes" : container.scale ? "scale" : "replicas";
    wrong[field].push_back("mean " + std::to_string(most) + " containers at once, and the tier " +
                           tier.slug + " allows " + std::to_string(tier.max_replicas) +
                           "; take fewer, or a larger tier");
  }
  for (const auto& [name, process] : container.processes) {
    const auto check = [&](const std::optional<int>& wanted, int most, const char* what) {
      if (wanted && *wanted > most)
        wrong["processes." + name + "." + what].push_back("is above the " + std::to_string(most) +
                                                          " of the tier " + tier.slug);
    };
    check(process.memory_mb, tier.memory_limit_mb, "memory_mb");
    check(process.cpu_millicores, tier.cpu_limit_millicores, "cpu_millicores");
  }
  if (!wrong.empty())
    throw Error(Code::validation_failed, "the tier doesn't allow what the deployment is to run",
                wrong);
}

void check_is_served(const ContainerSpec& container) {
  if (!is_served(container))
    throw invalid_field("custom_domain",
                        "needs a process that is served, which is web with a port; leave the "
                        "domain out, or give web a port");
}

}  // namespace berth::deployments
