#include "reconcilers/embedded/node/file_text.h"

#include <fstream>
#include <sstream>

namespace berth::embedded {

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  // Unlike an iterator, this keeps an error of reading in the state of the stream.
  text << in.rdbuf();
  return text.str();
}

std::string trimmed_file_text(const std::filesystem::path& file) {
  std::string text = file_text(file);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

}  // namespace berth::embedded
