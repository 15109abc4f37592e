#include "berthd/process_metrics.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "berthd/metric_family.h"

namespace berth {
namespace {

// The fields of /proc/self/stat from the third on (proc(5)); those before it may hold blanks.
std::vector<std::string> stat_fields() {
  std::ifstream in("/proc/self/stat");
  std::string line;
  std::getline(in, line);
  const size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return {};
  std::istringstream rest(line.substr(end_of_name + 1));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

// The fields' positions in stat_fields(). proc(5) counts them from 1 on, and the first two are left
// out.
constexpr size_t utime = 14 - 3;
constexpr size_t stime = 15 - 3;
constexpr size_t num_threads = 20 - 3;
constexpr size_t starttime = 22 - 3;
constexpr size_t vsize = 23 - 3;
constexpr size_t rss = 24 - 3;

// Seconds since the machine started, which is what starttime counts from (proc(5)).
double uptime() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<double> open_files() {
  std::error_code failure;
  double count = 0;
  std::filesystem::directory_iterator entries("/proc/self/fd", failure);
  if (failure) return std::nullopt;
  for (const auto& entry : entries) {
    static_cast<void>(entry);
    ++count;
  }
  return count - 1;  // without the one of the directory itself
}

double most_open_files() {
  rlimit value{};
  if (getrlimit(RLIMIT_NOFILE, &value) != 0) return -1;
  return value.rlim_cur == RLIM_INFINITY ? -1 : double(value.rlim_cur);
}

}  // namespace

std::vector<prometheus::MetricFamily> process_metrics() {
  std::vector<prometheus::MetricFamily> result;
  const auto add = [&](const char* name, const char* help, std::optional<double> value) {
    if (value) result.push_back(gauges(name, help, {gauge(*value)}));
  };
  const std::vector<std::string> fields = stat_fields();
  if (fields.size() > rss) {
    const auto ticks = double(sysconf(_SC_CLK_TCK));
    const auto number = [&](size_t at) { return std::stod(fields[at]); };
    result.push_back(counters("process_cpu_seconds_total",
                              "Seconds of CPU that berthd has used, for itself and in the kernel.",
                              {counter((number(utime) + number(stime)) / ticks)}));
    add("process_resident_memory_bytes", "Memory of berthd that is in RAM.",
        number(rss) * double(sysconf(_SC_PAGESIZE)));
    add("process_virtual_memory_bytes", "Virtual memory that berthd has mapped.", number(vsize));
    add("process_threads", "Threads of berthd.", number(num_threads));
    add("process_start_time_seconds", "When berthd was started, in seconds since 1970.",
        now() - (uptime() - number(starttime) / ticks));
  }
  add("process_open_fds", "Open files and connections of berthd.", open_files());
  add("process_max_fds",
      "Maximum number of open files and connections that the system allows; -1 without a limit.",
      most_open_files());
  return result;
}

}  // namespace berth
