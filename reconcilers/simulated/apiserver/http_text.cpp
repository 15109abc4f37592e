#include "reconcilers/simulated/apiserver/http_text.h"

#include <algorithm>

namespace berth::simulated {

std::vector<std::string> segments(const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void answer(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text, "application/json");
}

bool flag(const httplib::Request& request, const char* name) {
  const std::string value = request.get_param_value(name);
  return value == "true" || value == "1";
}

}  // namespace berth::simulated
