#pragma once

#include <string>
#include <vector>

namespace berth {

// Returns the names of the pages of docs/reference that are made from berthd's own tables, by
// `berthd reference PAGE`.
std::vector<std::string> reference_pages();

// Returns a page as Markdown without a title. `page` is one of reference_pages(). The result is the
// same on every machine, because neither a configuration file nor variables are read.
std::string reference(const std::string& page);

}  // namespace berth
