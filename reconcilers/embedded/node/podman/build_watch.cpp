#include "reconcilers/embedded/node/podman/build_watch.h"

#include <signal.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/types.h"
#include "reconcilers/embedded/node/file_text.h"
#include "reconcilers/embedded/node/podman/build_network.h"
#include "reconcilers/embedded/node/podman/firewall.h"
#include "reconcilers/embedded/node/podman/measure.h"

namespace berth::embedded::podman {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::milliseconds look_again{500};
// How long podman may take to stop once a build's step is killed.
constexpr std::chrono::seconds longest_stop{20};
constexpr std::chrono::milliseconds stop_pause{100};
// What has to stay free on the disk while something is built.
constexpr std::uint64_t reserve_bytes = std::uint64_t{512} << 20;
// Layers are measured again after the disk has lost what the build may still write, or this part
// of all that it may.
constexpr std::uint64_t shortest_step = 16;
// Of a layer; what is in further ones isn't counted.
constexpr std::size_t most_files_of_layer = 2'000'000;
// podman's process beside a step.
constexpr std::string_view step_program = "buildah-oci-runtime";

std::uint64_t free_in(const fs::path& directory) {
  struct statvfs about {};
  if (::statvfs(directory.c_str(), &about) != 0) return UINT64_MAX;
  return std::uint64_t(about.f_bavail) * about.f_frsize;
}

// podman's layers, by the directories of what is in them (containers-storage). The file system of a
// container that a step runs in is one, too.
std::set<fs::path> layers_in(const fs::path& directory) {
  std::set<fs::path> found;
  const fs::path storage = directory / "storage";
  for (const auto& [driver, content] :
       {std::pair{storage / "overlay", "diff"}, {storage / "vfs" / "dir", ""}}) {
    std::error_code failed;
    for (fs::directory_iterator each(driver, failed), end; !failed && each != end;
         each.increment(failed))
      found.insert(each->path() / content);
  }
  return found;
}

std::uint64_t less(std::uint64_t from, std::uint64_t what) { return from > what ? from - what : 0; }

// Whether the process is podman's beside a step of the build, or of any build of the data directory
// if `mark` is empty. podman has the step's configuration among its temporary files.
bool is_step_of(const fs::path& process, const fs::path& directory,
                const std::optional<std::int64_t>& mark) {
  const std::string words = file_text(process / "cmdline");
  if (!std::string_view(words).substr(0, words.find('\0')).ends_with(step_program)) return false;
  std::error_code gone;
  const fs::path bundle = fs::read_symlink(process / "cwd", gone);
  if (gone || !bundle.string().starts_with(fs::weakly_canonical(directory, gone).string() + "/"))
    return false;
  if (!mark) return true;
  const json config = json::parse(file_text(bundle / "config.json"), nullptr, false);
  const json& limits = at_path(config, "/process/rlimits");
  return std::ranges::any_of(limits, [&](const json& limit) {
    return limit.value("type", "") == "RLIMIT_LOCKS" && limit.value("hard", json()) == json(*mark);
  });
}

std::vector<int> children_of(const fs::path& process) {
  std::vector<int> children;
  std::error_code failed;
  for (fs::directory_iterator each(process / "task", failed), end; !failed && each != end;
       each.increment(failed)) {
    std::ifstream in(each->path() / "children");
    for (int child; in >> child;) children.push_back(child);
  }
  return children;
}

}  // namespace

BuildWatch::BuildWatch(Watched watched, std::stop_token stop)
    : directory_(std::move(watched.directory)),
      mark_(mark_of(watched.build)),
      ends_(std::chrono::steady_clock::now() + watched.limits.time),
      // A build may write its image twice: into the step's files, and into the layer of it.
      most_bytes_(2 * std::uint64_t(watched.limits.image_bytes)),
      reserve_(std::min(reserve_bytes, free_in(directory_) / 2)),
      layers_before_(layers_in(directory_)),
      tables_(watched.keeps_rules ? watch_tables() : Descriptor()),
      stop_(std::move(stop)),
      measure_below_(less(free_in(directory_), most_bytes_)),
      thread_([this] { serve(); }) {}

BuildWatch::~BuildWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void BuildWatch::serve() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, look_again, [this] { return over_; })) {
    if (tables_.valid() && was_table_removed(tables_.get())) keep_rules_of_builds();
    if (why_ == Why::nothing) {
      if (stop_.stop_requested())
        why_ = Why::stopped;
      else if (std::chrono::steady_clock::now() >= ends_)
        why_ = Why::timed_out;
      else if (has_no_room())
        why_ = Why::out_of_room;
    }
    if (why_ == Why::nothing) continue;
    kill_steps(directory_, mark_);
    cancel_.cancel();
  }
  if (why_ == Why::nothing) return;
  // podman may just have begun a step.
  const auto end = std::chrono::steady_clock::now() + longest_stop;
  while (kill_steps(directory_, mark_) > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(stop_pause);
}

// Whoever else writes on the disk may take as much of it meanwhile, so that the build's layers are
// measured before it is ended for that. Layers that others get in this time count as its own.
bool BuildWatch::has_no_room() {
  const std::uint64_t free = free_in(directory_);
  if (free < reserve_) return true;
  if (free >= measure_below_) return false;
  std::uint64_t written = 0;
  for (const fs::path& layer : layers_in(directory_))
    if (!layers_before_.contains(layer)) written += disk_usage(layer, most_files_of_layer);
  if (written > most_bytes_) return true;
  measure_below_ = less(free, std::max(most_bytes_ - written, most_bytes_ / shortest_step));
  return false;
}

std::int64_t BuildWatch::mark_of(const std::string& build) {
  // Large enough to be no limit that anybody sets, and positive.
  constexpr std::int64_t at_least = std::int64_t{1} << 40;
  return at_least + std::int64_t(std::hash<std::string>()(build) >> 2);
}

int BuildWatch::kill_steps(const fs::path& directory, const std::optional<std::int64_t>& mark) {
  int killed = 0;
  std::error_code failed;
  for (fs::directory_iterator each("/proc", failed), end; !failed && each != end;
       each.increment(failed)) {
    if (!parse_number<int>(each->path().filename().string()) ||
        !is_step_of(each->path(), directory, mark))
      continue;
    for (const int child : children_of(each->path())) killed += ::kill(child, SIGKILL) == 0 ? 1 : 0;
  }
  return killed;
}

}  // namespace berth::embedded::podman
