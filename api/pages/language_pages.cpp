// The choice of a language, at the foot of every page. It holds for this browser, where the console
// follows it, and for the mails to whoever is logged in.
#include <algorithm>

#include "api/pages/page.h"
#include "api/pages/pages.h"
#include "controller/domain/accounts/account_changes.h"

namespace berth::api::pages {
namespace {

bool is_page(std::string_view path) {
  return std::ranges::any_of(
      Pages::rows(), [&](const PageRow& row) { return row.method == "GET" && row.path == path; });
}

}  // namespace

std::string place_of(const Visit& visit) {
  std::string path(visit.http.path);
  if (visit.http.method != "POST")
    return visit.http.raw_query.empty() ? path : path + "?" + std::string(visit.http.raw_query);
  if (path == consent_form) return place_of_question(visit.form);
  while (!is_page(path)) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) return "/";
    path.erase(slash);
  }
  // Without its token, a page that a mail leads to would be of no use.
  for (const char* name : {"token", "next"})
    if (const std::string value = visit.field(name); !value.empty())
      path = with_parameter(path, name, value);
  return path;
}

// Leads back to a page of the table, and so never to another site. A page that isn't berth's, or
// that has characters which no URL contains, becomes the start page.
Page choose_language(Visit& visit) {
  const auto language = parse_enum<Language>(visit.field("language"));
  if (!language) throw invalid_field("language", "must be one of the languages of the pages");
  const std::string next = visit.field("next");
  const bool is_plain =
      std::ranges::all_of(next, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  Page page = go_to(is_plain && is_page(next.substr(0, next.find('?'))) ? next : "/");
  page.choice = language;
  if (visit.visitor && visit.user().language != *language) {
    visit.services.db.write(
        [&](db::Tx& tx) { accounts::set_language(tx, visit.user().id, *language); });
    page.event = {.kind = SecurityKind::account_changed, .reason = "language"};
  }
  return page;
}

}  // namespace berth::api::pages
