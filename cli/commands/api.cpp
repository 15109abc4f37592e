// The command api, which makes any call of the HTTP API.
#include <algorithm>
#include <array>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/env_file.h"
#include "cli/suggest.h"
#include "controller/base/text.h"

namespace berth::cli {
namespace {

struct ApiFlags {
  std::string method;
  std::string path;
  std::string data;
  std::vector<std::string> fields;
  std::vector<std::string> headers;
  std::string as;
  bool all_pages = false;
};

const std::vector<std::string> methods = {"GET", "POST", "PUT", "PATCH", "DELETE"};

// The credentials that the operations below a path take, if they don't take the session JWT.
struct Credentials {
  std::string_view prefix;
  As as;
};
constexpr std::array credentials = std::to_array<Credentials>({
    {"/api/internal/", As::admin},
    {"/api/deploy/", As::app},
    {"/api/external/", As::app},
    {"/api/v1/ads/", As::app},
    {"/api/operator/analytics", As::app},
    {"/api/operators", As::nobody},
    {"/api/oauth/apps/", As::nobody},
    {"/api/oauth/token", As::nobody},
    {"/api/auth/register", As::nobody},
    {"/api/auth/login", As::nobody},
    {"/api/auth/refresh", As::nobody},
    {"/api/auth/guests/merge", As::account},
    {"/api/auth/guests/", As::app},
    {"/api/auth/guests", As::nobody},
    {"/api/auth/verify-email", As::nobody},
    {"/api/auth/forgot-password", As::nobody},
    {"/api/auth/reset-password", As::nobody},
    {"/api/", As::account},
});

As as_for(const ApiFlags& flags) {
  if (flags.as == "app") return As::app;
  if (flags.as == "account") return As::account;
  if (flags.as == "admin") return As::admin;
  if (flags.as == "nobody") return As::nobody;
  for (const Credentials& entry : credentials)
    if (flags.path.starts_with(entry.prefix)) return entry.as;
  return As::nobody;  // /health and /.well-known
}

// KEY=VALUE. The value is a text; with := before it, as in count:=3, it is JSON.
std::pair<std::string, json> field_in(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || text.starts_with(":="))
    throw Failure(Exit::usage, "\"" + text + "\" isn't KEY=TEXT or KEY:=JSON");
  const bool is_json = text[equals - 1] == ':';
  const std::string key = text.substr(0, is_json ? equals - 1 : equals);
  const std::string value = text.substr(equals + 1);
  if (!is_json) return {key, value};
  json parsed = json::parse(value, nullptr, false);
  if (parsed.is_discarded())
    throw Failure(Exit::usage, key + ": \"" + value + "\" isn't JSON", "KEY=TEXT takes a text.");
  return {key, parsed};
}

// @FILE stands for what the file holds, @- for standard input.
std::string text_of(const std::string& data) {
  return data.starts_with('@') ? contents_of(data.substr(1)) : data;
}

json body_of(const ApiFlags& flags) {
  json body = nullptr;
  if (!flags.data.empty()) {
    body = json::parse(text_of(flags.data), nullptr, false);
    if (body.is_discarded()) throw Failure(Exit::usage, "the data isn't JSON");
  }
  for (const std::string& text : flags.fields) {
    if (!body.is_null() && !body.is_object())
      throw Failure(Exit::usage, "--field needs an object as data");
    const auto [key, value] = field_in(text);
    body[key] = value;
  }
  return body;
}

// The name of the list in an answer with pages: its only array.
std::string list_in(const json& body) {
  std::string name;
  if (body.contains("total"))
    for (const auto& [key, value] : body.items())
      if (value.is_array()) name = key;
  if (name.empty()) throw Failure(Exit::usage, "the answer isn't a list with pages");
  return name;
}

void print(Run& run, const json& body) {
  // Not every answer fits into a table, so people get JSON, too.
  const bool is_yaml = run.settings().format == Format::as_yaml;
  (is_yaml ? Output(Format::as_yaml) : Output(Format::as_json)).print(body, {});
}

void call(Run& run, const ApiFlags& flags) {
  for (const std::string& header : flags.headers)
    if (header.find(':') == std::string::npos || header.find_first_of("\r\n") != std::string::npos)
      throw Failure(Exit::usage, "\"" + printable(header) + "\" isn't Name: value");
  const Call call = {.method = flags.method,
                     .path = flags.path,
                     .as = as_for(flags),
                     .body = body_of(flags),
                     .headers = flags.headers};
  if (flags.all_pages) {
    if (flags.method != "GET") throw Failure(Exit::usage, "--all is for GET");
    const std::string list = list_in(run.api().call(call));
    print(run, run.api().all(flags.path, list, call.as));
    return;
  }
  const HttpResponse response = run.api().answer(call);
  const json body = json::parse(response.body, nullptr, false);
  if (body.is_discarded())
    std::cout << response.body;
  else
    print(run, body);
}

// A single argument is a path, which is requested with GET.
void settle_arguments(ApiFlags& flags) {
  if (flags.path.empty() && flags.method.starts_with('/')) {
    flags.path = flags.method;
    flags.method = "GET";
  }
  std::ranges::transform(flags.method, flags.method.begin(),
                         [](unsigned char c) { return char(std::toupper(c)); });
  if (std::ranges::find(methods, flags.method) == methods.end())
    throw Failure(Exit::usage,
                  "there is no method " + flags.method + did_you_mean(flags.method, methods),
                  "There are " + joined(methods, ", ") + ".");
  if (!flags.path.starts_with('/') || flags.path.find_first_of(" \r\n") != std::string::npos)
    throw Failure(Exit::usage, "a path begins with / and has no spaces: \"" + flags.path + "\"",
                  "As in `berth api GET /api/deploy/apps`.");
}

}  // namespace

void add_api_command(CLI::App& root, Run& run) {
  const auto flags = std::make_shared<ApiFlags>();
  CLI::App* command = add_command(
      root, "api", "Call any operation of the HTTP API with your login, and print its answer",
      "berth api PATCH /api/auth/me -f username=lovelace", [&run, flags] {
        settle_arguments(*flags);
        call(run, *flags);
      });
  command->add_option("METHOD", flags->method, "GET, POST, PUT, PATCH or DELETE; GET if left out")
      ->required();
  command->add_option("PATH", flags->path, "Path and query, as in /.well-known/openapi.json");
  command->add_option("--data,-d", flags->data, "Body as JSON; @FILE reads a file, @- stdin");
  command
      ->add_option("--field,-f", flags->fields,
                   "Field of the body: KEY=TEXT, or KEY:=JSON for other values; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--header,-H", flags->headers, "Header, as \"Name: value\"; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--as", flags->as, "Credentials to send, instead of those that the path needs")
      ->check(CLI::IsMember({"app", "account", "admin", "nobody"}));
  command->add_flag("--all", flags->all_pages, "Read all pages of a list");
}

}  // namespace berth::cli
