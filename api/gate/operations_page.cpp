#include "api/gate/operations_page.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "api/gate/route.h"

namespace berth::api {
namespace {

auto place_of(const Route* route) {
  constexpr std::array<std::string_view, 5> methods = {"GET", "PUT", "POST", "PATCH", "DELETE"};
  return std::tuple(route->tag, route->path(), std::ranges::find(methods, route->method()));
}

// Returns the cell of a table.
std::string cell(std::string_view text, std::string_view quote = "") {
  if (text.empty()) quote = "";
  return std::string(" ").append(quote).append(text).append(quote).append(" |");
}

// Which of the admins' roles may call which operation below /api/internal/.
std::string table_of_roles(const std::vector<const Route*>& rows) {
  std::string page =
      "\n## Roles of admins\n\nWho may call the operations below `/api/internal/`: admins in the "
      "console or by a personal token with the scope\n`admin`, and internal secrets, with one of "
      "these roles. In person: only in the console, or with a secret of berthd's\nconfiguration, "
      "by "
      "which alone `backup` can be called.\n\n| operation |";
  for (const auto role : texts_of(accounts::AdminRole())) page += cell(role);
  page += " in person |\n| --- | --- | --- | --- | --- |\n";
  for (const Route* route : rows) {
    const Access& access = route->guards.access;
    if (access.kind != Access::Kind::internal) continue;
    page += "|" + cell(route->name);
    for (const auto role : texts_of(accounts::AdminRole())) {
      const bool may =
          std::ranges::find(access.admin_roles, *parse_enum<accounts::AdminRole>(role)) !=
          access.admin_roles.end();
      page += cell(may ? "yes" : "");
    }
    page += cell(access.in_person ? "yes" : "") + "\n";
  }
  return page;
}

}  // namespace

std::string operations_page() {
  std::vector<const Route*> rows;
  for (const Route& route : routes()) rows.push_back(&route);
  std::ranges::sort(rows, {}, place_of);
  std::string page;
  std::string_view tag;
  for (const Route* route : rows) {
    if (route->tag != tag) {
      page.append(tag.empty() ? "" : "\n").append("## ").append(route->tag);
      page +=
          "\n\n| operation | request | role | command | page | why there is neither |\n"
          "| --- | --- | --- | --- | --- | --- |\n";
      tag = route->tag;
    }
    const auto role = route->guards.access.role;
    page += "|" + cell(route->name) + cell(route->request, "`") +
            cell(role ? to_string(*role) : "") + cell(route->served_by.command, "`") +
            cell(route->served_by.page, "`") + cell(route->served_by.neither) + "\n";
  }
  return page + table_of_roles(rows);
}

}  // namespace berth::api
