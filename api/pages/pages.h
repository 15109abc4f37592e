#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "api/gate/browser_session.h"
#include "api/gate/metrics.h"
#include "api/gate/rate_limit.h"
#include "api/gate/router.h"
#include "api/gate/services.h"
#include "api/gate/success_event.h"
#include "controller/domain/kernel/write_budgets.h"
#include "controller/transport/http.h"

namespace berth::api::pages {

// Who may open a page: anybody, whoever is logged in, or an admin, whom the rule of the API admits
// (admit_admin() in gate/authenticate.h) and who has the role `admin`.
enum class Who { anybody, user, admin };
struct PageRow {
  std::string_view method;
  std::string_view path;
  std::string_view name;  // in metrics
  Who who = Who::anybody;
  // What it stores, as the rows of the API say (gate/route.h); for forms, and for pages that write.
  write_budgets::Stores stores = write_budgets::Stores::nothing;
  SuccessEvent event = {};  // of a form, unless its handler sets the page's event
  // Whether pages of apps may send the form, which has no token then. Its handler may only lead to
  // another page.
  bool is_from_apps = false;
};

// The hosted pages: login, registration, consent, the account, and an admin's list of scope
// requests. They are HTML made by the server, and work without scripts; each form has a token.
// Thread-safe.
class Pages {
 public:
  // Throws std::logic_error if a template is wrong.
  Pages(const Services& services, HttpMetrics& metrics);
  // Answers the request and returns true if it is for a hosted page; otherwise returns false.
  // Throws nothing.
  bool handle(const Request& request, Response& response);
  // Returns all pages, and the forms on them.
  static std::vector<PageRow> rows();

 private:
  struct Row;
  static std::span<const Row> table();
  // The row for the request as if it were for `path`.
  static const Row* find(const Request& request, std::string_view path);
  bool redirect_from_slash(const Request& request, Response& response) const;
  void serve(const Row& row, const Request& request, const std::string& request_id,
             Response& response);

  const Services& services_;
  HttpMetrics& metrics_;
  Cookies cookies_;
  const Router api_;  // knows which addresses are the API's
  RateLimiter limiter_{Pool::rates_of_networks};
};

}  // namespace berth::api::pages
