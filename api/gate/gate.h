#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "api/gate/admin_caller.h"
#include "api/gate/authenticate.h"
#include "api/gate/heavy_reads.h"
#include "api/gate/idempotency.h"
#include "api/gate/internal_secret.h"
#include "api/gate/metrics.h"
#include "api/gate/rate_limit.h"
#include "api/gate/router.h"
#include "api/gate/validator.h"
#include "controller/transport/http.h"

namespace berth::api {

// Takes each request from the transport to its handler and back: internal secret, route, token,
// scope, rate, body, transaction, answer. What is checked follows from the route's row in the
// table. Thread-safe.
class Gate {
 public:
  // Throws std::logic_error if the table of routes doesn't fit the schemas.
  Gate(const Services& services, HttpMetrics& metrics);

  // Answers every request; never throws.
  void handle(const Request& request, Response& response);

  // Says where the body of a request goes: that of a route that takes an archive into a file, if
  // its token is good. Never throws.
  std::optional<Upload> place_of_body(const Request& request) const;

 private:
  struct Passage;  // one request that is being handled
  Reply answer(Passage& passage);
  AdminCaller admit_admin(Passage& passage);
  AdminCaller admit_secret(const Passage& passage);
  AdminCaller admit_person(const std::string& jwt, const Request& request);
  AdminCaller admit_token(const std::string& token, const Passage& passage);
  void handle_limited(const Request& request, Response& response);
  Reply run(Passage& passage, Call& call);
  Reply run_limited(Passage& passage, Call& call, const db::RequestLimits& limits);
  Reply read_heavily(const Route& route, const db::RequestLimits& limits,
                     const std::function<Reply(db::Tx&)>& work);
  Reply answer_to_preflight(const Request& request, const std::string& allow) const;
  void add_cors_fields(const Passage& passage, Response& response) const;
  void add_cursor(Reply& reply, const Call& call) const;
  void take_rate(Passage& passage, const Call& call);
  void count_for_app(Passage& passage, const std::string& app_id, const std::string& owner_id);
  std::optional<Error> refusal_to_store(Passage& passage, const Call& call) const;
  void charge(const Passage& passage, const db::Written& stored) const;
  json body_of(const Passage& passage) const;
  // Normalizes the body before it checks it.
  void check_body(const Passage& passage, Call& call) const;
  static Reply with_warnings(Reply reply, const Call& call);
  Reply run_handler(db::Tx& tx, const Call& call) const;
  Reply write(const Passage& passage, const Call& call, const std::string& key) const;
  Reply write_once(db::Tx& tx, const Passage& passage, const Call& call,
                   const idempotency::Slot& slot, std::optional<SecurityEvent>& event) const;
  Reply refused(const Passage& passage, const Reply& reply) const;
  // Notes the error in the security log, too.
  Reply reply_to_error(const Passage& passage, const Error& error) const;
  Reply answer_to(const Passage& passage, const Error& error) const;
  void note(const Passage& passage, const SecurityEvent& event) const;
  void finish(const Passage& passage, const Reply& reply, Response& response);

  const Services& services_;
  HttpMetrics& metrics_;
  Router router_;
  // Two limiters, so that a flood from many networks doesn't push out the counts of users and apps.
  RateLimiter network_limits_{Pool::rates_of_networks};
  RateLimiter caller_limits_{Pool::rates_of_callers};
  InternalSecret internal_secret_;
  // As many threads as the database has connections for heavy reads. Pages with high numbers, which
  // anybody may ask for, have one of their own: two that count through an index as fast as they can
  // would take both processors of a small machine.
  static constexpr unsigned heavy_read_threads = 2;
  static constexpr unsigned deep_page_threads = 1;
  HeavyReads heavy_reads_{Pool::heavy_reads, heavy_read_threads};
  HeavyReads deep_pages_{Pool::deep_pages, deep_page_threads};
  std::unordered_map<const Route*, Validator> validators_;
};

}  // namespace berth::api
