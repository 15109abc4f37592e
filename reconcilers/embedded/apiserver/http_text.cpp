#include "reconcilers/embedded/apiserver/http_text.h"

#include <algorithm>

namespace berth::embedded {

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

void answer(api::Response& response, int status, const std::string& text) {
  answer(response, status, "application/json", text);
}

void answer(api::Response& response, int status, const std::string& type, const std::string& text) {
  response.status = status;
  response.content_type = type;
  response.body = text;
}

std::string parameter(const api::Request& request, std::string_view name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string() : found->second;
}

bool flag(const api::Request& request, const char* name) {
  const std::string value = parameter(request, name);
  return value == "true" || value == "1";
}

}  // namespace berth::embedded
