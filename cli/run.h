#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/api.h"
#include "cli/output.h"
#include "cli/settings.h"

namespace berth::cli {

// What a command works with. Created from the global flags when it is first needed, so that `berth
// completion` and `berth man` need neither configuration nor a home directory.
class Run {
 public:
  GlobalFlags flags;
  // The words of the command line behind the first --, as they are: CLI11 takes [a,b] apart.
  std::vector<std::string> behind_dashes = {};

  // These are created by the first call. They throw Failure `usage` for invalid flags or
  // configuration.
  Settings& settings();
  CredentialStore& store();
  Api& api();
  Output out() { return Output(settings().format); }

 private:
  std::unique_ptr<Settings> settings_;
  std::unique_ptr<CredentialStore> store_;
  std::unique_ptr<Api> api_;
};

}  // namespace berth::cli
