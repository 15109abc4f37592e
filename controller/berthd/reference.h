#pragma once

#include <string>
#include <vector>

namespace berth {

// The pages of docs/reference that berthd's own tables make: `berthd reference PAGE`.
std::vector<std::string> reference_pages();

// A page as Markdown without a title. `page` is one of reference_pages(). It says the same on every
// machine: neither a configuration file nor variables are read.
std::string reference(const std::string& page);

}  // namespace berth
