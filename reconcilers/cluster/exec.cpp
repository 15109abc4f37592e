#include "reconcilers/cluster/exec.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "controller/base/error.h"
#include "controller/base/visible_text.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/pod_trouble.h"

namespace berth::reconcilers {
namespace {

// How much of the cluster's words, and of a program's name, a sentence quotes.
constexpr std::size_t max_words = 300;
constexpr std::size_t max_name = 80;

bool container_runs(const Object& pod) {
  return !field(container_status(pod), {"state", "running"}).is_null() && !is_over(pod);
}

// Why a pod that is wanted has no container that runs.
Error not_running(const Object& pod) {
  const Object& state = field(container_status(pod), {"state"});
  if (!field(state, {"terminated"}).is_null())
    return Error(Code::invalid_state, "the container has ended, and hasn't been started again");
  const std::string reason = text_at(state, {"waiting", "reason"});
  return Error(Code::invalid_state,
               "the container hasn't started yet" + (reason.empty() ? "" : ": " + reason));
}

// The process that is meant: web, unless the deployment has none.
std::string process_meant(const std::vector<ObjectPtr>& pods, const exec::Wanted& wanted) {
  if (wanted.process) return *wanted.process;
  std::set<std::string> processes;
  for (const ObjectPtr& pod : pods) processes.insert(manifests::process_of(*pod));
  processes.erase("");  // of runs
  if (processes.empty() || processes.contains(deployments::web_process))
    return deployments::web_process;
  return *processes.begin();
}

std::string quoted(std::string_view text, std::size_t most) {
  const bool is_long = text.size() > most;
  return without_controls(text.substr(0, most)) + (is_long ? "…" : "");
}

bool has_any(std::string_view words, std::initializer_list<std::string_view> signs) {
  return std::ranges::any_of(signs, [&](std::string_view sign) { return words.contains(sign); });
}

bool is_shell(std::string_view program) {
  constexpr std::array shells = {"sh", "bash", "ash", "dash", "zsh", "ksh", "fish"};
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return std::ranges::find(shells, name) != shells.end();
}

}  // namespace

RunningContainer running_container(const Cache& cache, const exec::Wanted& wanted) {
  if (!cache.synced())
    throw Error(Code::unavailable, "the cluster hasn't answered yet; try again later");
  std::vector<ObjectPtr> pods = cache.store(kube::pods).of_deployment(wanted.deployment_id);
  if (pods.empty()) throw Error(Code::invalid_state, "the deployment has no container");
  if (wanted.instance) {
    std::erase_if(pods, [&](const ObjectPtr& pod) { return name_of(*pod) != *wanted.instance; });
    if (pods.empty())
      throw Error(Code::invalid_state, "the deployment doesn't have this container any more");
  } else {
    const std::string process = process_meant(pods, wanted);
    std::erase_if(pods,
                  [&](const ObjectPtr& pod) { return manifests::process_of(*pod) != process; });
    if (pods.empty())
      throw Error(Code::invalid_state,
                  "the process " + quoted(process, max_name) + " has no container");
  }
  const auto rank = [](const ObjectPtr& pod) {
    return std::tuple(container_runs(*pod), !is_being_deleted(*pod), is_ready(*pod),
                      instant_at(*pod, {"metadata", "creationTimestamp"}), name_of(*pod));
  };
  const Object& pod = **std::ranges::max_element(pods, {}, rank);
  if (!container_runs(pod)) throw not_running(pod);
  return {.name_space = namespace_of(pod),
          .pod = name_of(pod),
          .container = text_at(container_status(pod), {"name"}),
          .node = text_at(pod, {"spec", "nodeName"})};
}

exec::End end_of_refused(std::string_view words, const std::vector<std::string>& argv) {
  const std::string program = argv.empty() ? "" : argv.front();
  const std::string name = quoted(program, max_name);
  if (has_any(words, {"executable file not found", "no such file or directory",
                      "No such file or directory"})) {
    if (is_shell(program))
      return {.exit_code = 127,
              .problem = "the image has no shell " + name +
                         "; only the programs that it has can be run in its containers"};
    return {.exit_code = 127, .problem = "the image has no program " + name};
  }
  if (has_any(words, {"permission denied", "Permission denied", "exec format error"}))
    return {.exit_code = 126,
            .problem = name + " isn't a program that the container's user may run"};
  if (has_any(words, {"container not found", "not running", "no such container",
                      "container state improper", "not in running state", "not found in pod"}))
    return {.exit_code = std::nullopt, .problem = std::string(container_is_gone)};
  return {.exit_code = std::nullopt,
          .problem = "the command couldn't be started: " + quoted(words, max_words)};
}

exec::End end_of_refused_port(std::string_view words, int port) {
  const std::string number = std::to_string(port);
  if (words.contains("onnection refused"))
    return {.exit_code = std::nullopt,
            .problem = "nothing in the container listens on port " + number};
  if (has_any(words, {"not found", "not running", "no such container"}))
    return {.exit_code = std::nullopt, .problem = std::string(container_is_gone)};
  return {.exit_code = std::nullopt,
          .problem = "port " + number + " can't be reached: " + quoted(words, max_words)};
}

}  // namespace berth::reconcilers
