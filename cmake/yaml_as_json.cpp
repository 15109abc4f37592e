// Run by berth_embed_as_json: yaml_as_json FROM TO FILE… writes the contents of each YAML file
// below the folder FROM as JSON to a file of the same name, with the ending .json, below the folder
// TO.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "controller/base/yaml.h"

namespace fs = std::filesystem;

int main(int argc, char** argv) {
  try {
    for (int i = 3; i < argc; ++i) {
      const fs::path name = fs::relative(argv[i], argv[1]);
      std::ifstream in(argv[i], std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      if (!in) throw std::runtime_error(name.string() + " can't be read");
      fs::path to = fs::path(argv[2]) / name;
      to.replace_extension(".json");
      fs::create_directories(to.parent_path());
      std::ofstream out(to, std::ios::binary);
      out << berth::parse_yaml(text.str(), name.string()).dump() << "\n" << std::flush;
      if (!out) throw std::runtime_error(to.string() + " can't be written");
    }
    return 0;
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << "\n";
    return 1;
  }
}
