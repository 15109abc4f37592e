// The parameters of an authorization request, and the redirect that answers it.
#include <algorithm>

#include "api/resources/oauth/redirect.h"
#include "controller/domain/apps/apps.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {
namespace {

void look_at_redirect(const std::string& uri, const std::string& state) {
  const std::string target = api::redirect_to(
      uri, {{"code", "ac_1"}, {"state", state}, {"iss", "https://berth.example.org"}});
  hold(target.starts_with(uri), "the answer goes where the app is");
  hold(std::ranges::all_of(target, [](unsigned char c) { return c > 0x20 && c < 0x7f; }),
       "nothing in a redirect can end its header");
  const auto sent = api::parse_form(std::string_view(target).substr(uri.size() + 1));
  hold(sent && sent->size() == 3, "the answer has its own parameters and no others");
  hold(sent->find("state")->second == state, "state comes back as it was sent");
}

}  // namespace

void run(std::string_view input) {
  const auto query = api::parse_form(input);
  if (!query) return;
  api::AuthorizationQuestion question;
  try {
    question = api::authorization_question(*query);
  } catch (const Error& error) {
    hold(error.code == Code::invalid_request, "what can't be answered is invalid_request");
    return;
  }
  if (const auto scopes = parse_scopes(question.request.scope))
    hold(parse_scopes(scopes->text()) == scopes, "scopes are read again from their text");
  if (!apps::refuse_redirect_uri(question.request.redirect_uri))
    look_at_redirect(question.request.redirect_uri, question.state.value_or(""));
}

}  // namespace berth::fuzz
