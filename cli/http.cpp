#include "cli/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <memory>
#include <sstream>

#include "cli/config.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

constexpr long connect_time_ms = 10'000;
constexpr const char* user_agent = "berth-cli";

struct Exchange {
  const HttpRequest* request = nullptr;
  HttpResponse response;
  CURL* curl = nullptr;
  bool ended_by_sink = false;
  bool too_large = false;
  char error[CURL_ERROR_SIZE] = {};  // more precise than the code
  std::exception_ptr thrown = {};    // an exception of the sink, which must not pass through C code
};

struct CurlEnd {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
struct ListEnd {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

size_t take_body(char* data, size_t size, size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  const std::string_view piece(data, size * count);
  long status = 0;
  curl_easy_getinfo(exchange.curl, CURLINFO_RESPONSE_CODE, &status);
  if (exchange.request->sink && status == 200) {
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
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  const size_t first = line.find_first_not_of(" \t", colon + 1);
  const size_t last = line.find_last_not_of(" \t\r\n");
  exchange.response.headers[name] = first == std::string_view::npos || last < first
                                        ? std::string()
                                        : std::string(line.substr(first, last - first + 1));
  return line.size();
}

void set_up(Exchange& exchange, curl_slist* headers) {
  const HttpRequest& request = *exchange.request;
  CURL* curl = exchange.curl;
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, user_agent);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, connect_time_ms);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, exchange.error);
  // A proxy for the outside world would see what goes unencrypted to this machine's own addresses.
  if (stays_on_machine(request.url)) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  if (const auto file = variable("SSL_CERT_FILE"))
    curl_easy_setopt(curl, CURLOPT_CAINFO, file->c_str());
  if (const auto dir = variable("SSL_CERT_DIR"))
    curl_easy_setopt(curl, CURLOPT_CAPATH, dir->c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  if (!request.body.empty() || request.method == "POST") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, long(request.body.size()));
  }
  if (request.sink) {
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, long(request.silence.count()));
  } else {
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, long(request.time.count()));
  }
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

}  // namespace

std::string HttpResponse::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpResponse perform(const HttpRequest& request) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, CurlEnd> curl(started == CURLE_OK ? curl_easy_init() : nullptr);
  if (!curl) throw std::runtime_error("libcurl can't be initialised");
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const std::string& header : request.headers) list = curl_slist_append(list, header.c_str());
  // libcurl would declare an empty body to be a form.
  if (request.body.empty()) list = curl_slist_append(list, "Content-Type:");
  const std::unique_ptr<curl_slist, ListEnd> headers(list);
  Exchange exchange = {.request = &request, .response = {}, .curl = curl.get()};
  set_up(exchange, headers.get());
  const CURLcode code = curl_easy_perform(curl.get());
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
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

namespace {
std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 ? c - '0' : (c | 32) - 'a' + 10;
  };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0) {
      result += char(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}
}  // namespace

std::map<std::string, std::string> decoded(std::string_view query) {
  std::map<std::string, std::string> result;
  std::istringstream in{std::string(query)};
  for (std::string pair; std::getline(in, pair, '&');) {
    const size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty())
      result[percent_decoded(pair.substr(0, equals))] =
          percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
  }
  return result;
}

}  // namespace berth::cli
