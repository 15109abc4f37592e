#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/gate/environment.h"
#include "api/gate/route.h"

namespace berth::api {

// Finds the row of the table for a method and a path. The row for GET also serves HEAD.
class Router {
 public:
  // Uses the rows that are available in this environment; the table has to outlive the router.
  // Throws std::logic_error if two rows have the same method and path.
  Router(const std::vector<Route>& table, Environment environment);

  struct Match {
    const Route* route = nullptr;  // null: 404, or 405 if `allow` isn't empty
    std::map<std::string, std::string, std::less<>> parameters;
    std::string allow;  // the value of the Allow header
  };
  // `path` is still percent-encoded; the parameters in the result are decoded, but for those that
  // then aren't UTF-8 or have a NUL: nothing has such a name on either engine. One slash at its end
  // makes no difference.
  Match find(std::string_view method, std::string_view path) const;

  const std::vector<const Route*>& rows() const { return rows_; }

 private:
  struct Pattern {
    std::vector<std::string> segments;  // a placeholder keeps its braces
    std::map<std::string, const Route*, std::less<>> methods;
  };
  static bool matches(const Pattern& pattern, const std::vector<std::string_view>& segments);

  std::vector<const Route*> rows_;
  std::unordered_map<std::string, const Route*> fixed_;        // "GET /health"
  std::unordered_map<size_t, std::vector<Pattern>> patterns_;  // by the number of their segments
};

}  // namespace berth::api
