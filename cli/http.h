#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/curl.h"

// One HTTP exchange by libcurl. Only http and https are allowed, certificates are verified (with
// the system's authorities, or those of SSL_CERT_FILE or SSL_CERT_DIR), and redirects aren't
// followed. Proxies are taken from https_proxy, http_proxy, all_proxy and no_proxy, but are never
// used for this machine's own addresses.
namespace berth::cli {

// Longer answers are refused, so that a wrong server can't fill the memory. No answer of berth's is
// as long, except for streams.
constexpr size_t most_of_answer = 16 * 1024 * 1024;
// How long a command that follows events or waits for a deployment tolerates that the server
// doesn't answer, because it may be restarting.
constexpr std::chrono::seconds longest_absence{120};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers = {};  // "Name: value"
  std::string body = {};
  std::chrono::milliseconds time = std::chrono::seconds(60);  // for the whole exchange
  // If set, the answer is a stream: each piece of an answer with status 200 is passed on as it
  // arrives, `time` doesn't apply, and the exchange ends if nothing arrives for `silence`. The sink
  // returns false to end it.
  std::function<bool(std::string_view)> sink = {};
  std::chrono::seconds silence = std::chrono::seconds(90);
};

struct HttpResponse {
  int status = 0;
  std::string body = {};                                         // without what a sink received
  std::map<std::string, std::string, std::less<>> headers = {};  // names in lower case
  bool broke_off = false;                                      // a stream broke off before its end
  std::string header(std::string_view lower_case_name) const;  // empty if there is none
};

// The server gave no answer.
struct NoAnswer : std::runtime_error {
  enum class Why {
    nobody_there,  // nothing listens at the address, so nothing was done
    not_trusted,   // the certificate isn't trusted, so nothing was done
    too_slow,      // `time` was exceeded
    broken,        // the connection broke; something may have been done
  };
  NoAnswer(const std::string& message, Why reason) : std::runtime_error(message), why(reason) {}
  Why why;
};

// Sets what all connections of the client have in common: the address, certificates, proxies and
// the time for connecting. What libcurl says of a failure is written to `error`, which has
// CURL_ERROR_SIZE bytes and has to outlive the use of `easy`.
void set_up_connection(curl::Easy& easy, const std::string& url, char* error);
// What the client calls itself, such as "berth-cli/0.1.0 (Linux x86_64)".
const std::string& user_agent();
// The meaning of a failure of libcurl.
NoAnswer::Why reason_of(CURLcode code);

// Throws NoAnswer. A stream that breaks off after it began is returned, with `broke_off` set.
HttpResponse perform(const HttpRequest& request);

// Encodes parameters as application/x-www-form-urlencoded, the form of queries too.
std::string encoded(const std::vector<std::pair<std::string, std::string>>& form);
// Returns the parameters of a query, without those that aren't properly encoded. If a name occurs
// twice, the last one counts.
std::map<std::string, std::string> decoded(std::string_view query);

}  // namespace berth::cli
