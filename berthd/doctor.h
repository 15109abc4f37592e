#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berthd/config.h"

// `berthd doctor --cluster`: whether a cluster is ready to run strangers' containers. The command
// only reads, and does so with the rights of the person who runs it, because berthd's own account
// may not read all of this.
namespace berth::doctor {

enum class Result {
  ok,
  warning,  // it works, but strangers' containers can do more than they should
  unknown,  // the API doesn't tell, or doesn't tell somebody with these rights
  failed,
};
constexpr auto texts_of(Result) {
  return EnumTexts<Result::failed>{"ok", "warning", "unknown", "failed"};
}

struct Finding {
  std::string name;
  Result result = Result::ok;
  std::string detail;
  std::string advice = {};  // what to do; empty if there is nothing to do
};

// Answers a GET request of the API server. Throws kube::ApiError.
using Ask = std::function<nlohmann::json(const std::string& path)>;

// Makes all checks, one after the other, and returns a finding for each. If a check's request is
// refused, its result is unknown.
std::vector<Finding> examine(const Config& config, const Ask& ask);

// What stands in the way of a platform that moves from one machine (kubernetes: local) to a
// cluster: images that only this machine has, the DNS of hosts, https, what still runs here.
// Nothing if the data directory has no trace of it. Opens its database for reading alone, also
// while berthd runs.
std::vector<Finding> growth(const Config& config);

// Examines the cluster of the configuration, and growth(), and prints what it found. Returns the
// exit code: 1 if something has failed. Throws StartError if the cluster can't be reached.
int run(const Config& config);

// Prints findings for people. Returns the exit code: 1 if something has failed.
int print(const std::vector<Finding>& findings);

// `berthd doctor --database`: whether the PostgreSQL server of the configuration is fit for berthd.
// Only reads. Prints and returns as run() does, also if the server can't be reached. Throws
// ConfigError if the key database is empty.
int run_database(const Config& config);

}  // namespace berth::doctor
