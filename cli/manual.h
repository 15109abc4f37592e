#pragma once

#include <string>

namespace CLI {
class App;
}

namespace berth::cli {

// berth(1) in man(7) macros: every command and flag of the tree, files, variables, exit codes.
std::string manual_page(const CLI::App& root);

}  // namespace berth::cli
