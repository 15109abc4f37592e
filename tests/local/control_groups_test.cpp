#include "reconcilers/embedded/node/podman/control_groups.h"

#include <catch2/catch.hpp>

#include "tests/temp_dir.h"

using namespace berth;
namespace fs = std::filesystem;

TEST_CASE("the control groups of a container that is gone are removed, in each hierarchy") {
  const test::TempDir dir;
  for (const char* group :
       {"unified/libpod_parent/libpod-gone/container", "memory/libpod_parent/libpod-conmon-gone",
        "memory/libpod_parent/libpod-busy", "libpod_parent/libpod-gone",
        "memory/others/libpod-gone"})
    fs::create_directories(dir / group);
  dir.write("memory/libpod_parent/libpod-busy/stays", "as a group with processes does");

  embedded::podman::remove_control_groups("gone", dir.path());
  embedded::podman::remove_control_groups("busy", dir.path());
  embedded::podman::remove_control_groups("unknown", dir.path());
  embedded::podman::remove_control_groups("", dir.path());
  CHECK(fs::is_empty(dir / "unified/libpod_parent"));
  CHECK(fs::is_empty(dir / "libpod_parent"));
  CHECK(fs::exists(dir / "memory/libpod_parent/libpod-busy"));
  CHECK_FALSE(fs::exists(dir / "memory/libpod_parent/libpod-conmon-gone"));
  CHECK(fs::exists(dir / "memory/others/libpod-gone"));
}
