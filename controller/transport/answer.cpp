#include "controller/transport/answer.h"

#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "controller/transport/request_head.h"

namespace berth::api {
namespace {

constexpr int first_final_status = 200;
constexpr int last_status = 599;

bool is_servers_own(std::string_view name) {
  constexpr std::array<std::string_view, 6> own = {
      "Connection", "Content-Length", "Content-Type", "Date", "Keep-Alive", "Transfer-Encoding"};
  return std::ranges::any_of(own, [&](std::string_view field) {
    return field.size() == name.size() && strncasecmp(field.data(), name.data(), name.size()) == 0;
  });
}

void append_decimal(std::string& text, std::size_t number) {
  std::array<char, 20> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(std::string_view(digits.data(), end));
}

}  // namespace

bool is_sendable(const Response& response) {
  const bool is_upgrade = response.status == switching_protocols;
  return is_upgrade == static_cast<bool>(response.takeover) &&
         (is_upgrade || response.status >= first_final_status) && response.status <= last_status &&
         is_field_value(response.content_type) &&
         std::ranges::all_of(response.headers, [](const auto& header) {
           return is_field_name(header.first) && is_field_value(header.second) &&
                  !is_servers_own(header.first);
         });
}

const std::string& http_date() {
  thread_local std::time_t made_at = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != made_at) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::array<char, 64> formatted{};
    text.assign(formatted.data(), std::strftime(formatted.data(), formatted.size(),
                                                "%a, %d %b %Y %H:%M:%S GMT", &utc));
    made_at = now;
  }
  return text;
}

std::string_view reason_phrase(int status) {
  struct Phrase {
    int status;
    std::string_view text;
  };
  static constexpr std::array<Phrase, 33> phrases = {{
      {switching_protocols, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {402, "Payment Required"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {upgrade_required, "Upgrade Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"},
  }};
  const auto* found = std::ranges::find(phrases, status, &Phrase::status);
  return found == phrases.end() ? std::string_view() : found->text;
}

void begin_head(std::string& head, const Response& response, std::string_view common_fields) {
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append(line_end);
  };
  head.assign("HTTP/1.1 ");
  append_decimal(head, static_cast<std::size_t>(response.status));
  head.append(" ").append(reason_phrase(response.status)).append(line_end).append(common_fields);
  for (const auto& [name, value] : response.headers) add(name, value);
  add("Date", http_date());
  if (response.stream || !response.body.empty()) add("Content-Type", response.content_type);
  if (response.stream || has_no_body(response.status)) return;
  head.append("Content-Length: ");
  append_decimal(head, response.body.size());
  head.append(line_end);
}

void add_chunk(std::string& to, std::string_view data) {
  constexpr int hexadecimal = 16;
  std::array<char, 16> size{};
  const char* end =
      std::to_chars(size.data(), size.data() + size.size(), data.size(), hexadecimal).ptr;
  to.append(std::string_view(size.data(), end)).append(line_end).append(data).append(line_end);
}

Response plain_refusal(int status, std::string_view detail) {
  return {.status = status, .content_type = "text/plain", .body = std::string(detail)};
}

std::string to_text(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += name + ": " + value + "\r\n";
  return text;
}

std::string render_busy(const Response& response, const Fields& headers) {
  std::string text = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: " +
                     response.content_type +
                     "\r\nContent-Length: " + std::to_string(response.body.size()) + "\r\n";
  return text + to_text(headers) + to_text(response.headers) + "\r\n" + response.body;
}

}  // namespace berth::api
