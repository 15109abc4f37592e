// Takes the place of what console/build.mjs makes if berthd is built without the console.
#include "api/console/files.h"

namespace berth::api::console {

const std::vector<File>& files() {
  static const std::vector<File> none;
  return none;
}

const std::vector<File>& documentation() {
  static const std::vector<File> none;
  return none;
}

}  // namespace berth::api::console
