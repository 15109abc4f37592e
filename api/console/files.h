#pragma once

#include <string_view>
#include <vector>

// The files of the console and of the documentation, which console/build.mjs makes. They are
// compiled into berthd, so all references to them stay valid.
namespace berth::api::console {

struct File {
  std::string_view name;  // contains a hash of the content, except for pages
  std::string_view content_type;
  // The content as it is, and the same compressed. Pictures are compressed already, and have empty
  // compressed forms.
  std::string_view content;
  std::string_view gzip;
  std::string_view brotli;
};

// The files of the console, its page index.html included. Empty if berthd was built without the
// console.
const std::vector<File>& files();
// The files of the documentation. A page has the name of its address below /docs, with `.html` at
// the end; index.html lists all pages. Empty if berthd was built without the console.
const std::vector<File>& documentation();

}  // namespace berth::api::console
