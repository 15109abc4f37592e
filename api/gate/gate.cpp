#include "api/gate/gate.h"

#include <algorithm>
#include <stdexcept>

#include "api/gate/audit_entry.h"
#include "api/gate/authenticate.h"
#include "api/gate/body.h"
#include "api/gate/browser_session.h"
#include "api/gate/canonical_id.h"
#include "api/gate/client_address.h"
#include "api/gate/cors.h"
#include "api/gate/cursor.h"
#include "api/gate/encode.h"
#include "api/gate/errors.h"
#include "api/gate/next_link.h"
#include "api/gate/repeated_field.h"
#include "api/gate/request_log.h"
#include "api/gate/schema.h"
#include "api/gate/write_guard.h"
#include "controller/base/id.h"
#include "controller/base/log.h"
#include "controller/base/shares.h"
#include "controller/base/visible_text.h"
#include "controller/domain/accounts/sessions.h"

namespace berth::api {
namespace {

constexpr size_t max_request_id_length = 128;
// The Retry-After of a request that took too long. It keeps clients that repeat the request from
// occupying another connection at once.
constexpr std::chrono::seconds retry_after_too_slow{10};
// How long a caller may take to send an archive: at the usual limit of 20 MB, some 270 kbit/s.
constexpr std::chrono::minutes longest_upload{10};
constexpr std::string_view api_prefix = "/api/";
constexpr std::string_view internal_prefix = "/api/internal";

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
}

// Returns the id that the caller chose if it can be logged as it is, and a new one otherwise.
std::string request_id_of(const Request& request, Instant now) {
  const std::string_view given = request.headers.get("X-Request-Id");
  const bool usable = !given.empty() && given.size() <= max_request_id_length && is_plain(given) &&
                      request.headers.count("X-Request-Id") == 1;
  return usable ? std::string(given) : new_uuid(now);
}

bool is_below_internal(std::string_view path) {
  return path.starts_with(internal_prefix) &&
         (path.size() == internal_prefix.size() || path[internal_prefix.size()] == '/');
}

// Whether it is the media type of a form. Parameters may follow the type (RFC 9110, section 8.3.1).
bool is_form_type(std::string_view content_type) {
  constexpr std::string_view form = "application/x-www-form-urlencoded";
  const size_t end = content_type.find_first_of("; \t");
  return same_name(content_type.substr(0, end), form);
}

// Whether a body that isn't JSON is meant to be a form.
bool looks_like_form(std::string_view body) {
  const size_t end = body.find_first_of("=&{[ \t\r\n");
  return end != std::string_view::npos && end > 0 && body[end] == '=';
}

CorsCaller cors_caller(const Call& call) {
  // The console and the built-in client never call across origins.
  if (!call.session_id.empty() || (call.caller && call.caller->first_party))
    return {.is_other = true};
  if (call.caller) return {.app_id = call.caller->app_id};
  if (call.play) return {.app_id = call.play->app_id};
  return {.is_other = call.user.has_value()};
}

Error too_slow() {
  Error error(Code::too_slow,
              "this request took too long in the database and was stopped; nothing was changed. "
              "Try again later, or ask for less");
  error.retry_after = retry_after_too_slow;
  return error;
}

// A parameter of the query is compared with what is stored, and may be a part of an answer or of an
// entry of the audit log. OAuth's parameters are exempt: `state` goes back as it came (RFC 6749,
// section 4.1.2), and the others are compared with what the app has registered.
void check_text(const Route& route, const Param& param, const Call& call) {
  if (is_oauth(route.guards.shape) || param.kind == Kind::integer || param.kind == Kind::words)
    return;
  const auto text = call.query(param.name);
  if (text && has_controls(*text, Lines::one))
    throw invalid_field(std::string(param.name),
                        "must not contain control characters, line ends or characters that "
                        "override the direction of text");
}

void check_query(const Route& route, const Call& call) {
  for (const auto params : params_of(route))
    for (const Param& param : params) check_text(route, param, call);
  for (const Param& param : route.query)
    if (param.required && !call.query(param.name)) {
      const std::string name(param.name);
      throw Error(param.if_missing, name + " is required", {{name, {"is required"}}});
    }
}

// Returns the Idempotency-Key of a request whose answer is stored; an empty text for other
// requests. Throws malformed_request for an empty key, because its sender expects the answer to be
// stored.
std::string idempotency_key(const Request& request, const Route& route) {
  if (route.idempotency == Idempotency::ignored || request.headers.count("Idempotency-Key") == 0)
    return "";
  const std::string_view key = request.headers.get("Idempotency-Key");
  if (key.empty()) throw Error(Code::malformed_request, "Idempotency-Key must not be empty");
  // PostgreSQL stores nothing else, and a database on SQLite may move there.
  if (!berth::is_utf8(key)) throw Error(Code::malformed_request, "Idempotency-Key must be UTF-8");
  return std::string(key);
}

void write_ids_in_lower_case(Router::Match& match) {
  const auto placeholders = placeholders_in(match.route->path());
  for (size_t i = 0; i < placeholders.size(); ++i)
    if (match.route->in_path[i]->kind == Kind::uuid)
      write_id_in_lower_case(match.parameters.find(placeholders[i])->second);
}

// Makes the caller the claimant of all pools' places for the rest of this request; the log names
// the same person.
void name_claimant(const Call& call) {
  if (call.caller) ClaimantOfThread::set_app(call.caller->app_id);
  if (call.play) ClaimantOfThread::set_app(call.play->app_id);
  if (call.user)
    ClaimantOfThread::set_account(call.user->id);
  else if (call.caller)
    ClaimantOfThread::set_account(call.caller->user_id);
  else if (call.play)
    ClaimantOfThread::set_account(call.play->user_id);
  if (call.user && call.user->is_admin) ClaimantOfThread::set_standing(Standing::essential);
}

// A deep page has the connections of heavy reads, but no more time than other pages.
db::RequestLimits limits_of(const Route& route, const Call& call) {
  if (route.readers == db::Readers::ordinary && call.asks_for_deep_page())
    return {.readers = db::Readers::heavy,
            .statement_time = db::RequestLimits::ordinary_statement_time};
  return {.readers = route.readers};
}

// The body hasn't been checked against its schema.
bool has_grant_type(const json& body, std::string_view wanted) {
  const auto found = body.find("grant_type");
  return found != body.end() && found->is_string() &&
         found->get_ref<const std::string&>() == wanted;
}

// Throws rate_limited unless the request is allowed.
void require_allowed(const RateLimiter::Verdict& verdict, const Rate& rate) {
  if (verdict.allowed) return;
  throw Error(Code::rate_limited,
              verdict.over_share
                  ? "too many addresses of your network send requests; try again later"
                  : "at most " + std::to_string(rate.limit) + " requests in " +
                        std::to_string(rate.window.count()) + " s are allowed; try again later");
}

}  // namespace

struct Gate::Passage {
  const Request& request;
  std::string address;  // the caller's
  std::string request_id;
  const Route* route = nullptr;
  Shape shape = Shape::nested;
  std::optional<RateLimiter::Verdict> rate;
  // The key by which the request counts for its network, if it does.
  std::string rate_of_network = {};
  std::chrono::steady_clock::time_point started;
  bool caller_is_known = false;  // a token or the internal secret was valid
  CorsCaller cors = {};          // set if the route allows origins of apps
  write_budgets::Writer writer = {};
  // Why this write may not store anything; a stored answer to its Idempotency-Key is given all the
  // same.
  std::optional<Error> storage_refusal = {};
};

Gate::Gate(const Services& services, HttpMetrics& metrics)
    : services_(services),
      metrics_(metrics),
      router_(routes(), services.environment),
      internal_secret_(services.admission.internal_secret, services.rate_limits,
                       services.admission.named_secrets) {
  for (const Route* route : router_.rows()) {
    if (route->has_body()) {
      check_sizes(inlined_schema(route->body.schema), std::string(route->body.schema));
      validators_.emplace(route, Validator(route->body.schema));
    }
    if (placeholders_in(route->path()).size() != route->in_path.size())
      throw std::logic_error("route " + std::string(route->name) +
                             ": in_path doesn't describe each placeholder");
    if (route->answer.upgrade.empty() && !all_schemas().contains(route->answer.schema))
      throw std::logic_error("route " + std::string(route->name) + ": there is no schema " +
                             std::string(route->answer.schema));
  }
}

void Gate::handle(const Request& request, Response& response) {
  db::limited(db::RequestLimits(), [&] { handle_limited(request, response); });
}

std::optional<Upload> Gate::place_of_body(const Request& request) const {
  Router::Match match = router_.find(request.method, request.path);
  if (match.route == nullptr || match.route->archive.empty()) return std::nullopt;
  write_ids_in_lower_case(match);
  const auto& builds = services_.cluster.builds;
  const Upload unread = {.kind = Upload::Kind::unread};
  if (!builds) return unread;
  try {
    db::limited(db::RequestLimits(), [&] {
      services_.db.read_committed([&](db::Tx& tx) {
        check_bearer(tx, *match.route, match.parameters, shown_by(request, services_), services_);
      });
    });
  } catch (const std::exception&) {
    return unread;  // the handler says why
  }
  return Upload{.kind = Upload::Kind::to_file,
                .directory = builds->uploads,
                .max_bytes = builds->max_source_bytes,
                .time = longest_upload};
}

void Gate::handle_limited(const Request& request, Response& response) {
  Passage passage = {.request = request,
                     .address = client_address(request, services_.admission.trusted_proxies),
                     .request_id = request_id_of(request, services_.clock.now()),
                     .route = nullptr,
                     .shape = Shape::nested,
                     .rate = {},
                     .started = std::chrono::steady_clock::now()};
  Reply reply;
  const ClaimantOfThread claimant(Claimant::of_thread());  // a copy, in which the user is named
  const db::WriteMeter meter;
  try {
    reply = answer(passage);
    if (reply.refusal) {
      if (const auto event = security_event_of(*reply.refusal)) note(passage, *event);
      reply = refused(passage, reply);
    }
  } catch (const Error& error) {
    reply = reply_to_error(passage, error);
  } catch (const db::TooSlow&) {
    reply = reply_to_error(passage, too_slow());
  } catch (const std::exception& failure) {
    log::error(
        "a request failed",
        {{"request_id", passage.request_id}, {"path", request.path}, {"error", failure.what()}});
    reply = reply_to_error(
        passage,
        Error(Code::internal_error,
              "berthd failed; its log has an entry with the request id " + passage.request_id));
  }
  charge(passage, meter.total());
  finish(passage, reply, response);
}

Reply Gate::answer_to_preflight(const Request& request, const std::string& allow) const {
  const Route* wanted =
      router_.find(request.headers.get("Access-Control-Request-Method"), request.path).route;
  return preflight(services_.db, request,
                   wanted == nullptr ? Cors::none : wanted->guards.access.cors, allow);
}

// If the answer is a page of a list (encode_page()) and not the last one, turns the position in its
// next_cursor into a cursor, and adds a Link header with the URL of the next page.
void Gate::add_cursor(Reply& reply, const Call& call) const {
  const auto next = reply.body.find("next_cursor");
  if (next == reply.body.end() || !next->is_array()) return;
  const std::string cursor = write_cursor(call, reply.body.at("next_page"), *next);
  *next = cursor;
  if (auto link = next_link(call, services_.base_url, "cursor", cursor, "page"))
    reply.headers.emplace_back("Link", *std::move(link));
}

// Returns who calls with an internal secret. Throws what InternalSecret::refuse() throws.
AdminCaller Gate::admit_secret(const Passage& passage) {
  const Request& request = passage.request;
  // Two secrets are refused like a wrong one: a proxy may have checked the other of the two.
  const std::string_view shown = request.headers.count("x-internal-secret") <= 1
                                     ? request.headers.get("x-internal-secret")
                                     : "more than one";
  if (const auto name = internal_secret_.name_of(shown))
    return {.actor = admin_actor(request, *name)};
  if (shown.starts_with(internal_secrets::prefix)) {
    const auto made = services_.db.read_committed(
        [&](db::Tx& tx) { return internal_secrets::find_valid(tx, shown); });
    if (made) {
      if (internal_secrets::is_use_due(*made, services_.clock.now()))
        services_.db.write([&](db::Tx& tx) { internal_secrets::store_use(tx, made->id); });
      return by_made_secret(*made, request);
    }
  }
  internal_secret_.refuse(shown, accounts::network_of(passage.address), passage.started);
}

// Returns the admin who calls in person, by the cookie of the console.
AdminCaller Gate::admit_person(const std::string& jwt, const Request& request) {
  const auto access = is_read(request.method) ? AdminAccess::reads : AdminAccess::changes;
  Bearer admin = services_.db.read_committed(
      [&](db::Tx& tx) { return check_admin(tx, jwt, services_, access); });
  if (admin.ends_idle) services_.logins.session_uses.note(admin.session_id, services_.clock.now());
  return by_person(std::move(admin), AdminCaller::Way::console);
}

AdminCaller Gate::admit_token(const std::string& token, const Passage& passage) {
  Bearer admin = services_.db.read_committed(
      [&](db::Tx& tx) { return check_admin_token(tx, token, services_, passage.address); });
  return by_person(std::move(admin), AdminCaller::Way::personal_token);
}

// Lets only admins of the platform pass. A request with a secret is judged by that alone, so that a
// wrong one isn't made up for.
AdminCaller Gate::admit_admin(Passage& passage) {
  const Request& request = passage.request;
  passage.shape = Shape::simple;
  const bool has_secret = request.headers.count("x-internal-secret") > 0;
  const std::string jwt = has_secret ? "" : console_jwt(request, services_.base_url);
  const std::string token = has_secret ? "" : bearer_token(request);
  AdminCaller admin = !jwt.empty()                                 ? admit_person(jwt, request)
                      : token.starts_with(personal_tokens::prefix) ? admit_token(token, passage)
                                                                   : admit_secret(passage);
  if (admin.person) ClaimantOfThread::set_account(admin.person->user->id);
  passage.shape = Shape::nested;
  ClaimantOfThread::set_standing(Standing::essential);
  return admin;
}

Reply Gate::answer(Passage& passage) {
  const Request& request = passage.request;
  std::optional<AdminCaller> admin;
  // This check comes before routing, so that others don't learn which internal paths exist.
  if (is_below_internal(request.path)) admin = admit_admin(passage);
  Router::Match match = router_.find(request.method, request.path);
  if (match.route == nullptr) {
    if (match.allow.empty()) return router_reply(404, "Not Found");
    if (is_preflight(request)) return answer_to_preflight(request, match.allow);
    Reply reply = request.method == "OPTIONS" ? Reply{.status = 204, .body = nullptr}
                                              : router_reply(405, "Method Not Allowed");
    reply.headers.emplace_back("Allow", match.allow);
    return reply;
  }
  passage.route = match.route;
  passage.shape = match.route->guards.shape;
  write_ids_in_lower_case(match);
  Call call = {.http = request,
               .route = match.route,
               .request_id = passage.request_id,
               .path = std::move(match.parameters),
               .address = passage.address};
  if (admin) {
    require_admin(match.route->guards.access, *admin);
    call.admin = admin->actor;
    call.admin_role = admin->role;
    call.admin_token_id = admin->token_id;
  }
  if (admin && admin->person) {
    call.session_id = admin->person->session_id;
    call.user = std::move(admin->person->user);
  }
  if (const auto repeated = repeated_field(request.headers))
    throw Error(is_oauth(passage.shape) ? Code::invalid_request : Code::malformed_request,
                std::string(*repeated) + " was sent more than once");
  Reply reply = run(passage, call);
  if (match.route->paged) add_cursor(reply, call);
  passage.caller_is_known = call.user || call.caller || call.play || !call.admin.empty();
  return reply;
}

Reply Gate::run(Passage& passage, Call& call) {
  const db::RequestLimits limits = limits_of(*passage.route, call);
  return db::limited(limits, [&] { return run_limited(passage, call, limits); });
}

// Runs the route's steps and its handler. No transaction is open while the body is read, because a
// caller can send it as slowly as they like. `limits` are those of the thread.
Reply Gate::run_limited(Passage& passage, Call& call, const db::RequestLimits& limits) {
  const Route& route = *passage.route;
  const auto enter = [&](db::Tx& tx) {
    authenticate(tx, services_, call);
    name_claimant(call);
    if (route.guards.access.cors == Cors::origins_of_apps) passage.cors = cors_caller(call);
    take_rate(passage, call);
  };
  const auto* read = std::get_if<ReadHandler>(&route.run);
  const auto in_read = [&](auto&& work) {
    if (limits.readers == db::Readers::heavy) return read_heavily(route, limits, work);
    return route.read_committed ? services_.db.read_committed(work) : services_.db.read(work);
  };
  if (!takes_token(route.guards.access)) {
    if (route.guards.access.cors == Cors::origins_of_apps) passage.cors = cors_caller(call);
    take_rate(passage, call);
  }
  if (read != nullptr && !route.has_body())
    return in_read([&](db::Tx& tx) {
      enter(tx);
      check_query(route, call);
      return read->run(tx, call, services_);
    });
  if (takes_token(route.guards.access)) services_.db.read_committed(enter);
  // A stored answer is given again even to a caller who has used up their write budget.
  const std::string key = idempotency_key(passage.request, route);
  passage.storage_refusal = refusal_to_store(passage, call);
  if (passage.storage_refusal && key.empty() && route.proving_grant.empty())
    throw Error(*passage.storage_refusal);
  check_query(route, call);
  if (route.has_body()) {
    call.body = body_of(passage);
    if (!route.proving_grant.empty() && has_grant_type(call.body, route.proving_grant))
      call.count_for_app = [&](const std::string& app_id, const std::string& owner_id) {
        count_for_app(passage, app_id, owner_id);
      };
    else if (passage.storage_refusal && key.empty())
      throw Error(*passage.storage_refusal);
    check_body(passage, call);
    if (route.guards.access.cors == Cors::origins_of_apps && !takes_token(route.guards.access))
      passage.cors.client_id = text_or_nothing(call.body, "client_id").value_or("");
  }
  if (read != nullptr)
    return with_warnings(in_read([&](db::Tx& tx) { return read->run(tx, call, services_); }), call);
  Requester requester = requester_of(call);
  const RequesterOfThread scope(requester);
  if (const auto* free = std::get_if<FreeHandler>(&route.run)) {
    Reply reply = with_warnings(free->run(call, services_), call);
    record_success(services_, call, reply, requester);
    return reply;
  }
  return write(passage, call, key);
}

// Runs a read that may take long on threads of its own. `limits` are those of the calling thread.
Reply Gate::read_heavily(const Route& route, const db::RequestLimits& limits,
                         const std::function<Reply(db::Tx&)>& work) {
  Reply reply;
  HeavyReads& threads = route.readers == db::Readers::heavy ? heavy_reads_ : deep_pages_;
  threads.run([&] { reply = db::limited(limits, [&] { return services_.db.read(work); }); });
  return reply;
}

// Counts the request against the route's rate limit, once, although a read may run again: for the
// grant of its token, for its user, or for its address if neither is known. All IPv6 addresses of a
// network count as one, because whoever has one of them can use all of them. Several berthd
// processes on one database divide the limit: each allows its share.
void Gate::take_rate(Passage& passage, const Call& call) {
  const Route& route = *passage.route;
  if (!services_.rate_limits || route.guards.rate.limit == 0 || passage.rate) return;
  std::string key(route.name);
  RateLimiter& limiter = call.caller || call.play || call.user ? caller_limits_ : network_limits_;
  if (call.caller && !call.caller->grant_id.empty())
    key += " grant " + call.caller->grant_id;
  else if (call.play)
    key += " grant " + call.play->grant_id;
  else if (call.caller || call.user)  // the tokens that a user makes have one limit together
    key += " user " + (call.user ? call.user->id : call.caller->user_id);
  else
    key += " address " + accounts::network_of(call.address);
  const Rate rate = share_of(route.guards.rate, services_.live_replicas());
  passage.rate = limiter.take(key, rate, std::chrono::steady_clock::now());
  require_allowed(*passage.rate, rate);
  if (&limiter == &network_limits_) passage.rate_of_network = key;
}

// Counts a request for the app that it has proven to be of, and takes back what it has counted for
// its network. One beyond the app's limit stays counted for the network, so that nobody has tokens
// checked without limit.
void Gate::count_for_app(Passage& passage, const std::string& app_id, const std::string& owner_id) {
  const Route& route = *passage.route;
  ClaimantOfThread::set_account(owner_id);
  ClaimantOfThread::set_app(app_id);
  write_budgets::Writer writer;
  writer.owner_id = owner_id;
  if (const auto refusal = write_guard::refusal(services_, writer, route.stores))
    throw Error(*refusal);
  if (!passage.rate_of_network.empty()) {
    const Rate rate = share_of(route.guards.rate, services_.live_replicas());
    passage.rate = caller_limits_.take(std::string(route.name) + " app " + app_id, rate,
                                       std::chrono::steady_clock::now());
    require_allowed(*passage.rate, rate);
    network_limits_.give_back(passage.rate_of_network);
  }
  passage.writer = std::move(writer);
}

// Returns why the caller may not store anything now, or nothing if they may. Also notes in
// `passage` who stores. The server of an app that an admin has approved for a scope speaks for many
// people, so its network isn't counted.
std::optional<Error> Gate::refusal_to_store(Passage& passage, const Call& call) const {
  const Route& route = *passage.route;
  if (!call.admin.empty()) return std::nullopt;
  write_budgets::Writer& writer = passage.writer;
  const bool is_approved_app =
      call.caller && !call.caller->first_party &&
      !call.caller->scopes.within(ScopeSet::automatic() | ScopeSet::identity());
  if (!is_approved_app) writer.address = call.address;
  if (call.user) {
    writer.account_id = call.user->id;
    writer.is_verified = [is = call.user->email_verified] { return is; };
    writer.is_guest = call.user->is_guest;
  } else if (call.caller) {
    writer.account_id = call.caller->user_id;
    writer.is_guest = call.caller->is_guest;
    // If the budget leaves something to people who haven't verified their address, an approved app
    // may store as much for them as for those who have. For guests, of whom it makes as many
    // as it likes, that is only so for payments.
    const auto* budget = write_budgets::find(route.stores);
    const bool is_vouched_for = is_approved_app && budget != nullptr &&
                                budget->unverified.bytes > 0 &&
                                (!call.caller->is_guest || route.stores == Stores::payments);
    writer.is_verified = [this, is_vouched_for, id = call.caller->user_id] {
      return is_vouched_for || write_guard::is_verified(services_, id);
    };
  } else if (call.play) {
    writer.account_id = call.play->user_id;
    writer.is_verified = [this, id = call.play->user_id] {
      return write_guard::is_verified(services_, id);
    };
  }
  if (route.stores == Stores::unsaid && route.method() == "GET") return std::nullopt;
  return write_guard::refusal(services_, writer, route.stores);
}

void Gate::charge(const Passage& passage, const db::Written& stored) const {
  if (passage.route != nullptr)
    write_guard::charge(services_, passage.writer, passage.route->stores, stored);
}

json Gate::body_of(const Passage& passage) const {
  const Route& route = *passage.route;
  const Request& request = passage.request;
  const std::string_view type = request.headers.get("Content-Type");
  const bool takes_form = route.body.form == Body::Form::json_or_form;
  if (takes_form && !request.body.starts_with('{') && is_form_type(type))
    return parse_form_body(request.body);
  if (route.body.form == Body::Form::optional_json && request.body.empty()) return json::object();
  try {
    return parse_body(request.body);
  } catch (const Error& error) {
    const Code code = is_oauth(route.guards.shape) ? Code::invalid_request : error.code;
    if (!looks_like_form(request.body)) throw Error(code, error.what());
    throw Error(
        code, takes_form ? "the body isn't valid JSON; without a Content-Type it is read as JSON, "
                           "and a form needs Content-Type: application/x-www-form-urlencoded"
                         : "the body isn't valid JSON; this operation takes no form, but JSON with "
                           "Content-Type: application/json");
  }
}

// Checks the body against its schema, and collects the fields that the schema doesn't have. OAuth
// endpoints ignore these silently (RFC 6749, section 3.2).
void Gate::check_body(const Passage& passage, Call& call) const {
  const auto found = validators_.find(passage.route);
  if (found == validators_.end()) return;
  const Validator& validator = found->second;
  const bool is_oauth_route = is_oauth(passage.route->guards.shape);
  if (passage.route->body.check == Body::Check::by_schema) {
    validator.normalize(call.body);
    const Details wrong = validator.check(call.body);
    if (!wrong.empty()) {
      const auto& [field, reasons] = *wrong.begin();
      throw Error(is_oauth_route ? Code::invalid_request : Code::validation_failed,
                  field + " " + reasons.front(), wrong);
    }
  }
  if (!is_oauth_route) call.warnings = validator.unknown_fields(call.body);
}

// Tells the caller which fields of the body were ignored. Answers that aren't JSON objects have no
// place for it.
Reply Gate::with_warnings(Reply reply, const Call& call) {
  if (call.warnings.empty() || reply.refusal || reply.stream || reply.takeover ||
      !reply.text.empty() || !reply.body.is_object())
    return reply;
  json& all = reply.body["warnings"];
  if (!all.is_array()) all = json::array();
  for (const std::string& warning : call.warnings) all.push_back(warning);
  return reply;
}

// Runs a WriteHandler, and records what it has done in the audit log.
Reply Gate::run_handler(db::Tx& tx, const Call& call) const {
  const std::int64_t before = tx.changes();
  Reply reply = std::get<WriteHandler>(call.route->run).run(tx, call, services_);
  record_success(tx, call, reply, before);
  return reply;
}

Reply Gate::write(const Passage& passage, const Call& call, const std::string& key) const {
  const Route& route = *passage.route;
  const auto in_transaction = [&](auto&& work) {
    return route.with_row_locks ? services_.db.write_with_row_locks(work)
                                : services_.db.write(work);
  };
  if (key.empty())
    return with_warnings(in_transaction([&](db::Tx& tx) { return run_handler(tx, call); }), call);
  const idempotency::Slot slot = idempotency::slot(call, route, key);
  std::optional<SecurityEvent> event;  // the event of the run of the transaction that was committed
  Reply reply = in_transaction([&](db::Tx& tx) {
    event.reset();
    return write_once(tx, passage, call, slot, event);
  });
  if (event) note(passage, *event);
  return reply;
}

// Returns the answer that was stored for this key. If there is none, runs the handler and stores
// its answer in the same transaction. `event` is set if the answer is a refusal that matters for
// security.
Reply Gate::write_once(db::Tx& tx, const Passage& passage, const Call& call,
                       const idempotency::Slot& slot, std::optional<SecurityEvent>& event) const {
  if (auto kept = idempotency::find(tx, slot)) return *kept;
  if (passage.storage_refusal) throw Error(*passage.storage_refusal);
  Reply reply;
  try {
    reply = with_warnings(tx.nested([&] { return run_handler(tx, call); }), call);
    if (reply.refusal) {
      event = security_event_of(*reply.refusal);
      reply = refused(passage, reply);
    }
  } catch (const Error& error) {
    reply = answer_to(passage, error);
    if (reply.status >= 500 || reply.status == 429) throw;
    event = security_event_of(error);
  }
  idempotency::keep(tx, slot, reply);
  return reply;
}

// Makes the answer to a request that is refused although its changes are kept.
Reply Gate::refused(const Passage& passage, const Reply& reply) const {
  Reply refusal = answer_to(passage, *reply.refusal);
  refusal.body.update(reply.body);
  refusal.headers.insert(refusal.headers.end(), reply.headers.begin(), reply.headers.end());
  return refusal;
}

Reply Gate::reply_to_error(const Passage& passage, const Error& error) const {
  if (const auto event = security_event_of(error)) note(passage, *event);
  return answer_to(passage, error);
}

Reply Gate::answer_to(const Passage& passage, const Error& error) const {
  const Challenge challenge = {
      .base_url = services_.base_url,
      .with_credentials = !bearer_token(passage.request).empty(),
      .scope = passage.route == nullptr ? "" : scope_names(passage.route->guards.access.any_of)};
  return reply_to(error, passage.shape, challenge);
}

void Gate::note(const Passage& passage, const SecurityEvent& event) const {
  services_.security.note(event, {.address = passage.address,
                                  .route = passage.route == nullptr ? "none" : passage.route->name,
                                  .request_id = passage.request_id});
}

// If the database can't be read, the fields are left out. The browser then doesn't give the answer
// to the page.
void Gate::add_cors_fields(const Passage& passage, Response& response) const {
  try {
    add_cors(services_.db, passage.request, passage.route->guards.access.cors, passage.cors,
             response.headers);
  } catch (const std::exception& failure) {
    log::error("an origin could not be looked up",
               {{"request_id", passage.request_id}, {"error", failure.what()}});
  }
}

void Gate::finish(const Passage& passage, const Reply& reply, Response& response) {
  response.status = reply.status;
  if (reply.takeover) {
    response.takeover = reply.takeover;
  } else if (reply.stream) {
    response.content_type =
        reply.content_type.empty() ? passage.route->answer.content_type : reply.content_type;
    response.stream = reply.stream;
  } else if (!reply.text.empty()) {
    response.content_type = reply.content_type.empty() ? "application/json" : reply.content_type;
    response.body = reply.text;
  } else if (!reply.body.is_null()) {
    response.content_type = "application/json";
    response.body = reply.body.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  response.add_header("X-Request-Id", passage.request_id);
  if (passage.route != nullptr && passage.route->guards.access.cors != Cors::none)
    add_cors_fields(passage, response);
  for (const auto& [name, value] : reply.headers) response.add_header(name, value);
  // Responses with tokens or codes must not be cached (RFC 6749, section 5.1); neither must any
  // that are meant for one caller.
  if (is_oauth(passage.shape) || passage.request.path.starts_with(api_prefix)) {
    response.add_header("Cache-Control", "no-store");
    // An answer that is opened as a document shares no window with the page that opened it.
    response.add_header("Cross-Origin-Opener-Policy", "same-origin");
  }
  response.caller_is_known = passage.caller_is_known;
  if (passage.rate) {
    response.add_header("RateLimit-Limit", std::to_string(passage.rate->limit));
    response.add_header("RateLimit-Remaining", std::to_string(passage.rate->remaining));
    response.add_header("RateLimit-Reset", std::to_string(passage.rate->reset.count()));
    if (!passage.rate->allowed)
      response.add_header("Retry-After", std::to_string(passage.rate->reset.count()));
  }
  if (reply.status < 300 && passage.route != nullptr)
    if (const auto event = security_event_of_success(*passage.route)) note(passage, *event);
  const auto took = std::chrono::steady_clock::now() - passage.started;
  const std::string route(passage.route == nullptr ? "none" : passage.route->name);
  metrics_.observe(std::string(passage.request.method), route, reply.status, took);
  const bool changes = passage.route != nullptr && request_changes(*passage.route);
  log_request({.request_id = passage.request_id,
               .method = passage.request.method,
               .route = route,
               .address = passage.address,
               .status = reply.status,
               .took = took},
              changes ? RequestKind::change : RequestKind::read);
}

}  // namespace berth::api
