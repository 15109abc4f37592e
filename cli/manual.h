#pragma once

#include <string>

namespace CLI {
class App;
}

namespace berth::cli {

// The manual page berth(1) in man(7) macros: every command and flag of the tree, files, variables
// and exit codes.
std::string manual_page(const CLI::App& root);

// The same as Markdown without a title, for docs/reference.
std::string manual_markdown(const CLI::App& root);

}  // namespace berth::cli
