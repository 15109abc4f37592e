#include "cli/run.h"

namespace berth::cli {

Settings& Run::settings() {
  if (!settings_) settings_ = std::make_unique<Settings>(settle(flags));
  return *settings_;
}

CredentialStore& Run::store() {
  if (!store_) store_ = std::make_unique<CredentialStore>(settings().places.state_dir);
  return *store_;
}

Api& Run::api() {
  if (!api_) api_ = std::make_unique<Api>(settings(), store());
  return *api_;
}

}  // namespace berth::cli
