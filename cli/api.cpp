#include "cli/api.h"

#include <algorithm>
#include <array>
#include <thread>

#include "cli/login.h"
#include "cli/output.h"
#include "controller/base/crypto.h"
#include "controller/base/text.h"

namespace berth::cli {
namespace {

using std::chrono::seconds;

// As in the specification, "Limits".
constexpr std::array waits = {seconds(1), seconds(2), seconds(4)};
// Rate limits count over a minute. If the server asks the client to wait for longer than that, the
// command fails and says so.
constexpr seconds longest_wait{60};
constexpr seconds worth_a_word{3};
constexpr size_t page_size = 100;  // the largest that the API allows

std::optional<seconds> retry_after(const HttpResponse& response) {
  const auto value = parse_number<int>(response.header("retry-after"));
  if (!value || *value < 0) return std::nullopt;
  return seconds(*value);
}

bool passes(const HttpResponse& response) {
  if (response.status == 503) return true;
  // A cap, such as the largest number of deployments, doesn't go away by waiting.
  if (response.status != 429) return false;
  const std::string code = failure_of(response).server_code;
  return code != "deployment_limit_reached" && code != "build_limit_reached";
}

bool harmless_twice(const HttpRequest& request) {
  if (request.method == "GET" || request.method == "DELETE") return true;
  for (const std::string& header : request.headers)
    if (header.starts_with("Idempotency-Key:")) return true;
  return false;
}

Failure no_answer(const std::string& server, const NoAnswer& error) {
  const bool untrusted = error.why == NoAnswer::Why::not_trusted;
  return Failure(Exit::unavailable,
                 server + (untrusted ? " isn't trusted: " : " doesn't answer: ") + error.what(),
                 untrusted
                     ? "Set SSL_CERT_FILE to a file with the certificate of the server's authority."
                     : "Is this the right server? Name another one with --server, BERTH_URL or "
                       "`berth config set server`.");
}

Failure not_berth(const std::string& server) {
  return Failure(Exit::failed, server + " doesn't answer as berth does", "Is it berth's address?");
}

// Redirects aren't followed, because the target would receive the token.
Failure redirected(const std::string& server, const HttpResponse& response) {
  const std::string to = response.header("location");
  return Failure(Exit::failed,
                 server + " redirects to another address (" + std::to_string(response.status) +
                     ")" + (to.empty() ? "" : ": " + to),
                 "If that is the right server, name it with --server, BERTH_URL or `berth config "
                 "set server`.");
}

// Returns what to do about the refusal of a personal access token; empty if nothing else than
// usual.
std::string advice_about_personal_token(const std::string& server_code) {
  if (server_code == "invalid_token" || server_code == "token_expired" ||
      server_code == "token_revoked")
    return "BERTH_TOKEN is a personal access token; make another one with `berth tokens create`.";
  if (server_code == "insufficient_scope")
    return "BERTH_TOKEN is a personal access token: make one with this scope, which the app has to "
           "be approved for as well (`berth scopes list`).";
  if (server_code == "wrong_token_type")
    return "BERTH_TOKEN is a personal access token, which doesn't do this. Unset it, and log in: "
           "`berth login`.";
  if (server_code == "app_not_found")
    return "With a personal access token, --app and BERTH_APP take the id or client_id of an app.";
  return "";
}

// A login by browser gives tokens, with which security settings can't be changed.
Failure refusal(const Call& call, const HttpResponse& response, const Settings& settings) {
  Failure failure = failure_of(response);
  // A wrong password or code is answered with 401, too, and has advice of its own.
  const bool is_about_token = failure.server_code.find("token") != std::string::npos;
  if (failure.server_code == "malformed_request" &&
      std::string_view(failure.what()).find("Berth-App") != std::string_view::npos)
    failure.advice = "Name one with --app, or choose one with `berth apps use`.";
  if (call.as == As::account && failure.exit == Exit::not_logged_in && is_about_token)
    failure.advice =
        "Log in again with the account's password: `berth login --email YOU@EXAMPLE.ORG`.";
  const bool shows_token = call.as == As::account || call.as == As::app;
  if (shows_token && settings.token && is_personal_token(*settings.token))
    if (std::string advice = advice_about_personal_token(failure.server_code); !advice.empty())
      failure.advice = std::move(advice);
  return failure;
}

std::string why_wait(const HttpResponse& response) {
  if (response.status != 429) return "the server can't answer at the moment";
  const std::string limit = response.header("ratelimit-limit");
  return limit.empty() ? "the limit of such requests per minute is reached"
                       : "the limit of " + limit + " such requests per minute is reached";
}

void wait_for(seconds time, const std::string& why) {
  if (time >= worth_a_word) say(why + "; trying again in " + std::to_string(time.count()) + " s");
  std::this_thread::sleep_for(time);
}

}  // namespace

Api::Api(const Settings& settings, CredentialStore& store)
    : settings_(settings), store_(store), login_(std::make_unique<Login>(*this)) {}
Api::~Api() = default;

HttpResponse Api::raw(HttpRequest request, bool patient) {
  request.url = settings_.server + request.url;
  for (size_t attempt = patient ? 0 : waits.size();; ++attempt) {
    const bool last = attempt == waits.size();
    try {
      HttpResponse response = perform(request);
      if (last || !passes(response)) return response;
      const seconds time = retry_after(response).value_or(waits[attempt]);
      if (time > longest_wait) return response;
      wait_for(std::max(time, seconds(1)), why_wait(response));
    } catch (const NoAnswer& error) {
      // If nothing listens at the address, that won't change in a moment, so a wrong address is
      // reported at once. A server that was too slow would be so again, which would take minutes.
      if (last || error.why != NoAnswer::Why::broken || !harmless_twice(request))
        throw no_answer(settings_.server, error);
      wait_for(waits[attempt], "the server doesn't answer");
    }
  }
}

std::vector<std::string> Api::credentials(As as) {
  switch (as) {
    case As::account:
      return {"Authorization: Bearer " + login_->account_token()};
    case As::app: {
      std::vector<std::string> fields = {"Authorization: Bearer " + login_->access_token()};
      if (!login_->chosen_app().empty()) fields.push_back("Berth-App: " + login_->chosen_app());
      return fields;
    }
    case As::admin:
      if (!settings_.internal_secret)
        throw Failure(Exit::not_logged_in, "this command is for the platform's admins",
                      "Set BERTH_INTERNAL_SECRET, or pass --secret-file. `make run` stores the "
                      "secret in data/internal-secret.");
      return {"x-internal-secret: " + *settings_.internal_secret};
    case As::nobody:
      break;
  }
  return {};
}

HttpRequest Api::request_of(const Call& call, const std::string& idempotency_key) {
  HttpRequest request = {.method = call.method,
                         .url = call.path,
                         .headers = {"Accept: application/json"},
                         .time = call.time};
  for (const std::string& field : credentials(call.as)) request.headers.push_back(field);
  request.headers.insert(request.headers.end(), call.headers.begin(), call.headers.end());
  if (call.method == "POST" || call.method == "PUT")
    request.headers.push_back("Idempotency-Key: " + idempotency_key);
  if (!call.archive.empty()) {
    request.headers.emplace_back("Content-Type: application/x-tar");
    request.body = call.archive;
  } else if (!call.body.is_null()) {
    request.headers.emplace_back("Content-Type: application/json");
    try {
      request.body = call.body.dump();
    } catch (const json::type_error&) {
      throw Failure(Exit::usage, "the request's text isn't valid UTF-8");
    }
  }
  return request;
}

// Whether a new token was obtained that makes a second attempt worthwhile.
bool Api::renewed(const Call& call, const HttpResponse& response) {
  if (call.as == As::account) {
    static const std::vector<std::string> ended = {"token_expired", "token_revoked",
                                                   "invalid_token"};
    return response.status == 401 &&
           std::ranges::find(ended, failure_of(response).server_code) != ended.end() &&
           login_->renew_account();
  }
  if (call.as != As::app) return false;
  // What is wrong with a password or a code isn't wrong with the token.
  static const std::vector<std::string> of_person = {"insufficient_user_authentication",
                                                     "invalid_credentials", "invalid_totp"};
  if (response.status == 401)
    return std::ranges::find(of_person, failure_of(response).server_code) == of_person.end() &&
           login_->renew(Login::Why::refused);
  if (response.status == 403 && failure_of(response).server_code == "insufficient_scope")
    return login_->renew(Login::Why::lacks_scope);
  return false;
}

HttpResponse Api::answer(const Call& call) {
  const std::string key = hex(random_bytes(16));
  HttpResponse response = raw(request_of(call, key), call.patient);
  if (response.status >= 400 && renewed(call, response))
    response = raw(request_of(call, key), call.patient);
  if (response.status >= 300 && response.status < 400) throw redirected(settings_.server, response);
  if (response.status >= 400 || response.status < 200) throw refusal(call, response, settings_);
  return response;
}

json Api::call(const Call& call) {
  const HttpResponse response = answer(call);
  if (response.status == 204) return json::object();
  json body = json::parse(response.body, nullptr, false);
  if (!body.is_object()) throw not_berth(settings_.server);
  // The server warns of fields that it has ignored, and advises what to use instead.
  for (const json& warning : body.value("warnings", json::array()))
    if (warning.is_string()) say("Warning: " + warning.get<std::string>());
  return body;
}

json Api::all(const std::string& path, const std::string& plural, As as, size_t most) {
  const std::string start = path + (path.find('?') == std::string::npos ? "?" : "&") +
                            "page_size=" + std::to_string(std::clamp(most, size_t(1), page_size));
  json result = get(start, as);
  json& items = result[plural];
  if (!items.is_array()) throw not_berth(settings_.server);
  while (items.size() < most && result["next_cursor"].is_string()) {
    const json next = get(start + "&cursor=" + result["next_cursor"].get<std::string>(), as);
    if (next.at(plural).empty()) break;
    for (const json& item : next.at(plural))
      if (items.size() < most) items.push_back(item);
    for (const char* field : {"next_page", "next_cursor"}) result[field] = next.at(field);
  }
  return result;
}

const json& Api::once(const std::string& path, const std::string& plural, As as) {
  const auto found = read_.find(path);
  return found != read_.end() ? found->second
                              : read_.emplace(path, all(path, plural, as)).first->second;
}

bool Api::stream(const Stream& stream) {
  const auto ask = [&] {
    HttpRequest request = {.method = "GET", .url = stream.path, .headers = credentials(stream.as)};
    request.headers.push_back("Accept: " + stream.accept);
    request.headers.insert(request.headers.end(), stream.headers.begin(), stream.headers.end());
    request.sink = stream.sink;
    return raw(request);
  };
  HttpResponse response = ask();
  if (response.status >= 400 && renewed({.path = stream.path, .as = stream.as}, response))
    response = ask();
  if (response.status != 200 && response.status != 204) throw failure_of(response);
  if (response.broke_off && stream.has_end)
    throw Failure(Exit::unavailable,
                  settings_.server + " closed the connection in the middle of an answer");
  return response.status == 200;
}

std::unique_ptr<WebSocket> Api::open(const std::string& path, const std::string& subprotocol) {
  constexpr int switching_protocols = 101;
  constexpr int upgrade_required = 426;
  const auto ask = [&] {
    try {
      return std::make_unique<WebSocket>(
          HttpRequest{.url = settings_.server + path, .headers = credentials(As::app)},
          subprotocol);
    } catch (const NoAnswer& error) {
      throw no_answer(settings_.server, error);
    }
  };
  std::unique_ptr<WebSocket> socket = ask();
  if (socket->answer().status >= 400 && renewed({.path = path}, socket->answer())) socket = ask();
  const HttpResponse& answer = socket->answer();
  if (answer.status == switching_protocols) return socket;
  if (answer.status >= 300 && answer.status < 400) throw redirected(settings_.server, answer);
  // The request asked for it, but that didn't reach berthd.
  if (answer.status == upgrade_required)
    throw Failure(Exit::unavailable, "something between here and berthd passes no WebSockets on",
                  "A proxy in front of berthd has to pass the fields Upgrade and Connection.");
  if (answer.status >= 400) throw refusal({.path = path}, answer, settings_);
  throw not_berth(settings_.server);
}

}  // namespace berth::cli
