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

// One HTTP exchange, by libcurl: http and https alone, certificates checked (by the system's
// authorities, or those of SSL_CERT_FILE or SSL_CERT_DIR), no redirect followed. Proxies by
// https_proxy, http_proxy, all_proxy and no_proxy, but never for this machine's own addresses.
namespace berth::cli {

// Larger answers than any list has are refused, so that a wrong server can't fill the memory.
constexpr size_t most_of_answer = 16 * 1024 * 1024;

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers = {};  // "Name: value"
  std::string body = {};
  std::chrono::milliseconds time = std::chrono::seconds(60);  // for all of it
  // A stream: each piece of an answer 200 goes here as it comes, and `time` doesn't count; where
  // nothing at all comes for `silence`, it ends. false ends it.
  std::function<bool(std::string_view)> sink = {};
  std::chrono::seconds silence = std::chrono::seconds(90);
};

struct HttpResponse {
  int status = 0;
  std::string body = {};                                         // without a stream's pieces
  std::map<std::string, std::string, std::less<>> headers = {};  // names in lower case
  bool broke_off = false;                                        // a stream: in the middle
  std::string header(std::string_view lower_case_name) const;    // empty where there is none
};

// There was no answer.
struct NoAnswer : std::runtime_error {
  enum class Why {
    nobody_there,  // nothing can have been done
    not_trusted,   // likewise: the certificate isn't good
    too_slow,      // `time` is over
    broken,        // the connection, while something may have been done
  };
  NoAnswer(const std::string& message, Why reason) : std::runtime_error(message), why(reason) {}
  Why why;
};

// Throws NoAnswer. A stream that ends, however, gives what there was.
HttpResponse perform(const HttpRequest& request);

// application/x-www-form-urlencoded, which is also what stands in a query.
std::string encoded(const std::vector<std::pair<std::string, std::string>>& form);
std::string percent_encoded(std::string_view text);
// The parameters of a query; the last of two of one name counts.
std::map<std::string, std::string> decoded(std::string_view query);

}  // namespace berth::cli
