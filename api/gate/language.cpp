#include "api/gate/language.h"

#include <algorithm>

#include "api/gate/browser_session.h"
#include "api/gate/list_field.h"
#include "controller/base/ascii.h"

namespace berth::api {
namespace {

// Returns the weight in thousandths (RFC 9110, section 12.4.2): 1000 without one, and 0 if it is
// malformed.
int weight_of(std::string_view parameters) {
  constexpr int whole = 1000;
  while (!parameters.empty()) {
    const std::string_view one = take_item(parameters, ';');
    if (!one.starts_with("q=") && !one.starts_with("Q=")) continue;
    const std::string_view number = one.substr(2);
    if (number.empty() || (number[0] != '0' && number[0] != '1')) return 0;
    int weight = (number[0] - '0') * whole;
    if (number.size() > 1 && number[1] != '.') return 0;
    int place = whole / 10;
    for (const char digit : number.substr(std::min<size_t>(2, number.size()))) {
      if (digit < '0' || digit > '9') return 0;
      weight += (digit - '0') * place;
      place /= 10;
    }
    return std::min(weight, whole);
  }
  return whole;
}

}  // namespace

Language preferred_language(std::string_view accept_language) {
  accept_language = accept_language.substr(0, max_accept_language);
  Language best = Language::en;
  int best_weight = 0;
  while (!accept_language.empty()) {
    std::string_view range = take_item(accept_language);
    const std::string_view tag = take_item(range, ';');
    const auto language =
        parse_enum<Language>(lower_case(tag.substr(0, std::min(tag.find('-'), tag.size()))));
    const int weight = language ? weight_of(range) : 0;
    if (weight <= best_weight) continue;
    best = *language;
    best_weight = weight;
  }
  return best;
}

Language language_of(const Request& request) {
  if (const auto chosen = parse_enum<Language>(Cookies::language(request))) return *chosen;
  return preferred_language(request.headers.get("Accept-Language"));
}

}  // namespace berth::api
