#include "api/gate/next_link.h"

#include "controller/base/url.h"

namespace berth::api {

std::string canonical_path(const Call& call) {
  std::string path(call.route->path());
  for (size_t open = path.find('{'); open != std::string::npos; open = path.find('{', open)) {
    const size_t end = path.find('}', open) + 1;
    const std::string value =
        percent_encode(call.id(std::string_view(path).substr(open + 1, end - open - 2)));
    path.replace(open, end - open, value);
    open += value.size();
  }
  return path;
}

std::optional<std::string> next_link(const Call& call, const std::string& base_url,
                                     std::string_view name, const std::string& value,
                                     std::string_view left_out) {
  std::string url = base_url + canonical_path(call) + "?";
  for (const auto params : params_of(*call.route))
    for (const Param& param : params)
      if (const auto kept =
              param.name == name || param.name == left_out ? std::nullopt : call.query(param.name))
        url += std::string(param.name) + "=" + percent_encode(*kept) + "&";
  url += std::string(name) + "=" + percent_encode(value);
  if (url.size() > max_link_length) return std::nullopt;
  return "<" + url + ">; rel=\"next\"";
}

}  // namespace berth::api
