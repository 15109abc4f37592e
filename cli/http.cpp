#include "cli/http.h"

#include <sys/utsname.h>

#include <algorithm>
#include <exception>
#include <sstream>

#include "cli/config.h"
#include "controller/base/ascii.h"
#include "controller/base/curl.h"
#include "controller/base/url.h"
#include "controller/base/version.h"

namespace berth::cli {
namespace {

constexpr long connect_time_ms = 10'000;

struct Exchange {
  const HttpRequest* request = nullptr;
  HttpResponse response;
  curl::Easy easy = {};
  bool ended_by_sink = false;
  bool too_large = false;
  char error[CURL_ERROR_SIZE] = {};  // more precise than the code
  std::exception_ptr thrown = {};    // an exception of the sink, which must not pass through C code
};

size_t take_body(char* data, size_t size, size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  const std::string_view piece(data, size * count);
  if (exchange.request->sink && exchange.easy.status() == 200) {
    try {
      exchange.ended_by_sink = !exchange.request->sink(piece);
    } catch (...) {
      exchange.thrown = std::current_exception();
    }
    return exchange.ended_by_sink || exchange.thrown ? 0 : piece.size();
  }
  exchange.too_large = exchange.response.body.size() + piece.size() > most_of_answer;
  if (exchange.too_large) return 0;
  exchange.response.body += piece;
  return piece.size();
}

size_t take_header(char* data, size_t size, size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  const std::string_view line(data, size * count);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  const std::string name = lower_case(line.substr(0, colon));
  const size_t first = line.find_first_not_of(" \t", colon + 1);
  const size_t last = line.find_last_not_of(" \t\r\n");
  exchange.response.headers[name] = first == std::string_view::npos || last < first
                                        ? std::string()
                                        : std::string(line.substr(first, last - first + 1));
  return line.size();
}

void set_up(Exchange& exchange, const curl::Lines& headers) {
  const HttpRequest& request = *exchange.request;
  curl::Easy& easy = exchange.easy;
  set_up_connection(easy, request.url, &exchange.error[0]);
  easy.set(CURLOPT_FOLLOWLOCATION, 0L);
  easy.set(CURLOPT_USERAGENT, user_agent().c_str());
  easy.set(CURLOPT_CUSTOMREQUEST, request.method);
  easy.set(CURLOPT_HTTPHEADER, headers);
  easy.set(CURLOPT_WRITEFUNCTION, take_body);
  easy.set(CURLOPT_WRITEDATA, &exchange);
  easy.set(CURLOPT_HEADERFUNCTION, take_header);
  easy.set(CURLOPT_HEADERDATA, &exchange);
  if (!request.body.empty() || request.method == "POST") {
    easy.set(CURLOPT_POSTFIELDS, request.body.c_str());
    easy.set(CURLOPT_POSTFIELDSIZE, long(request.body.size()));
  }
  if (request.sink) {
    easy.set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    easy.set(CURLOPT_LOW_SPEED_TIME, long(request.silence.count()));
  } else {
    easy.set(CURLOPT_TIMEOUT_MS, long(request.time.count()));
  }
}

}  // namespace

void set_up_connection(curl::Easy& easy, const std::string& url, char* error) {
  easy.set(CURLOPT_URL, url);
  easy.set(CURLOPT_PROTOCOLS_STR, "http,https");
  easy.set(CURLOPT_NOSIGNAL, 1L);
  easy.set(CURLOPT_CONNECTTIMEOUT_MS, connect_time_ms);
  easy.set(CURLOPT_ERRORBUFFER, error);
  // A proxy for the outside world would see what goes unencrypted to this machine's own addresses.
  if (stays_on_machine(url)) easy.set(CURLOPT_NOPROXY, "*");
  if (const auto file = variable("SSL_CERT_FILE")) easy.set(CURLOPT_CAINFO, *file);
  if (const auto dir = variable("SSL_CERT_DIR")) easy.set(CURLOPT_CAPATH, *dir);
}

// The list of the account's devices shows it.
const std::string& user_agent() {
  static const std::string text = [] {
    utsname system = {};
    std::string name = "berth-cli/" + std::string(version);
    if (uname(&system) == 0)
      name += std::string(" (") + system.sysname + " " + system.machine + ")";
    return name;
  }();
  return text;
}

NoAnswer::Why reason_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return NoAnswer::Why::nobody_there;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return NoAnswer::Why::not_trusted;
    case CURLE_OPERATION_TIMEDOUT:
      return NoAnswer::Why::too_slow;
    default:
      return NoAnswer::Why::broken;
  }
}

std::string HttpResponse::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpResponse perform(const HttpRequest& request) {
  curl::Lines headers;
  headers.add("Expect:");
  for (const std::string& header : request.headers) headers.add(header);
  // libcurl would declare an empty body to be a form.
  if (request.body.empty()) headers.add("Content-Type:");
  Exchange exchange = {.request = &request, .response = {}};
  set_up(exchange, headers);
  const CURLcode code = exchange.easy.perform();
  const long status = exchange.easy.status();
  exchange.response.status = int(status);
  if (exchange.thrown) std::rethrow_exception(exchange.thrown);
  if (exchange.too_large)
    throw NoAnswer("the answer is larger than any answer of berth", NoAnswer::Why::broken);
  const bool stream_ended = request.sink && status == 200;
  if (code != CURLE_OK && !exchange.ended_by_sink && !stream_ended)
    throw NoAnswer(exchange.error[0] == '\0' ? curl_easy_strerror(code) : exchange.error,
                   reason_of(code));
  exchange.response.broke_off = stream_ended && code != CURLE_OK && !exchange.ended_by_sink;
  return std::move(exchange.response);
}

std::string encoded(const std::vector<std::pair<std::string, std::string>>& form) {
  std::string result;
  for (const auto& [name, value] : form)
    result += (result.empty() ? "" : "&") + percent_encode(name) + "=" + percent_encode(value);
  return result;
}

std::map<std::string, std::string> decoded(std::string_view query) {
  std::map<std::string, std::string> result;
  std::istringstream in{std::string(query)};
  for (std::string pair; std::getline(in, pair, '&');) {
    const size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decode(pair.substr(0, equals), Plus::is_blank);
    const auto value =
        percent_decode(pair.substr(std::min(equals + 1, pair.size())), Plus::is_blank);
    if (!pair.empty() && name && value) result[*name] = *value;
  }
  return result;
}

}  // namespace berth::cli
