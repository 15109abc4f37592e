#include "reconcilers/embedded/node/podman/control_groups.h"

#include <ranges>
#include <system_error>
#include <vector>

namespace berth::embedded::podman {
namespace {

namespace fs = std::filesystem;

// With cgroupfs, podman's parent of all groups.
constexpr const char* podmans_parent = "libpod_parent";

// The files of a control group can't be removed; its directory can, as if it were empty, once it
// has neither processes nor groups of its own.
void remove_group(const fs::path& group) {
  std::error_code ignored;
  if (!fs::is_directory(group, ignored)) return;
  std::vector<fs::path> directories{group};
  for (auto at = fs::recursive_directory_iterator(group, ignored);
       at != fs::recursive_directory_iterator(); at.increment(ignored))
    if (at->is_directory(ignored)) directories.push_back(at->path());
  for (const fs::path& directory : directories | std::views::reverse)
    fs::remove(directory, ignored);
}

}  // namespace

void remove_control_groups(const std::string& container_id, const fs::path& root) {
  if (container_id.empty()) return;
  std::error_code ignored;
  std::vector<fs::path> hierarchies{root};
  // With version 1, each controller has a hierarchy of its own.
  for (auto at = fs::directory_iterator(root, ignored); at != fs::directory_iterator();
       at.increment(ignored))
    if (fs::is_directory(at->path() / podmans_parent, ignored)) hierarchies.push_back(at->path());
  for (const fs::path& hierarchy : hierarchies)
    for (const char* prefix : {"libpod-", "libpod-conmon-"})
      remove_group(hierarchy / podmans_parent / (prefix + container_id));
}

}  // namespace berth::embedded::podman
