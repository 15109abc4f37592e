#pragma once

#include <string>

namespace berth::api {

// Returns docs/reference/operations.md from its first group on, in Markdown: every operation of the
// table of routes, by group and path, with the command and the page that do the same.
std::string operations_page();

}  // namespace berth::api
