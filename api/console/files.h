#pragma once

#include <string_view>
#include <vector>

// The files of the console and of the documentation, which console/build.mjs makes.
namespace berth::api::console {

struct File {
  std::string_view name;  // with a hash of its content, but for pages
  std::string_view content_type;
  std::string_view content;
  std::string_view gzip;
  std::string_view brotli;
};

// Returns nothing if berthd was built without the console.
const std::vector<File>& files();
// Pages are named as their addresses below /docs, with `.html` at the end; index.html lists them
// all. Empty if berthd was built without the console.
const std::vector<File>& documentation();

}  // namespace berth::api::console
