#include "controller/domain/deployments/custom_domains/suffix_list.h"

#include <libpsl.h>

#include <fstream>

#include "controller/base/log.h"

namespace berth::suffix_list {
namespace {

struct Chosen {
  const psl_ctx_t* list;
  Source source;
};

Chosen choose() {
  const Source own = {.file = {}, .as_of = Instant(std::chrono::seconds(psl_builtin_file_time()))};
  const Source machines = {.file = psl_dist_filename(),
                           .as_of = date_of(psl_dist_filename()).value_or(Instant())};
  if (machines.as_of > own.as_of)
    if (const psl_ctx_t* loaded = psl_load_file(machines.file.c_str())) return {loaded, machines};
  return {psl_builtin(), own};
}

const Chosen& chosen() {
  static const Chosen once = choose();
  return once;
}

}  // namespace

std::optional<Instant> date_of(const std::filesystem::path& file) {
  std::error_code missing;
  const auto modified = std::filesystem::last_write_time(file, missing);
  if (missing) return std::nullopt;
  std::ifstream in(file.string() + ".date");
  std::string text;
  std::getline(in, text);
  if (const auto written = parse_iso8601(text)) return written;
  return std::chrono::floor<Duration>(std::chrono::file_clock::to_sys(modified));
}

const psl_ctx_st* list() { return chosen().list; }
const Source& source() { return chosen().source; }

void announce(Instant now) {
  const std::string name = source().file.empty() ? "libpsl" : source().file.string();
  const std::string as_of = to_iso8601(source().as_of);
  log::info("public suffix list loaded", {{"source", name}, {"as_of", as_of}});
  if (is_old(source(), now))
    log::warning("the public suffix list is older than a year; update it and libpsl",
                 {{"source", name}, {"as_of", as_of}});
}

}  // namespace berth::suffix_list
