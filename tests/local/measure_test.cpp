// What control groups of version 2 say, from files as the kernel writes them: a machine with that
// version isn't among those that the tests run on.
#include "reconcilers/embedded/node/podman/measure.h"

#include <catch2/catch.hpp>

#include "tests/temp_dir.h"

using namespace berth;
using namespace berth::embedded::podman;

TEST_CASE("a container's use is read from control groups of version 2") {
  const test::TempDir dir;
  // The form of cgroup-v2.rst of the kernel's documentation.
  dir.write("cpu.stat",
            "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\nnr_periods 12\n"
            "nr_throttled 0\nthrottled_usec 0\n");
  dir.write("memory.current", "52428800\n");
  dir.write("memory.stat",
            "anon 20971520\nfile 31457280\nkernel 0\nactive_anon 0\ninactive_anon 20971520\n"
            "active_file 10485760\ninactive_file 20971520\n");
  dir.write("memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n");
  const CgroupPaths paths{.memory = dir.path(), .cpu = dir.path(), .v2 = true};
  CHECK(cpu_time(paths) == 1'500'000'000);
  CHECK(working_set(paths) == 31'457'280);
  CHECK(out_of_memory_kills(paths) == 1);

  // A file of the cache that is being written may be larger than all memory a moment later.
  dir.write("memory.current", "10485760\n");
  CHECK(working_set(paths) == 0);
  const CgroupPaths gone{.memory = dir / "gone", .cpu = dir / "gone", .v2 = true};
  CHECK_FALSE(cpu_time(gone));
  CHECK_FALSE(working_set(gone));
  CHECK(out_of_memory_kills(gone) == 0);
}
