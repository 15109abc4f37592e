#include "reconcilers/embedded/ingress/caddy_config.h"

#include "controller/base/url.h"

namespace berth::embedded {
namespace {

// The largest head of a request, as of berthd's own server (transport/server.h).
constexpr int max_header_bytes = 64 * 1024;
// How long the head of a request may take to arrive. Bodies, answers and upgraded connections may
// take as long as they want: only the app knows what is too long.
constexpr const char* head_timeout = "15s";
constexpr const char* idle_timeout = "75s";
constexpr const char* dial_timeout = "3s";
// How long connections to containers are kept. Many servers close idle ones after 5 s or 2 s; a
// request that is sent at that moment would fail.
constexpr const char* keep_upstream = "1s";
constexpr int max_kept_upstream = 512;
// How a request is sent again that a container didn't answer. Other requests take turns, too, so
// that a retry may come to the same container again: this often, it doesn't.
constexpr int most_retries = 20;
constexpr const char* retry_pause = "20ms";
constexpr const char* tried_for = "5s";

// Host names as Routes has them, with or without a port. Nothing else ever becomes part of a path.
constexpr const char* plain_host = "^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]+)?$";
constexpr const char* host = "{http.request.host}";

// The variable that tells the routes of errors what has failed.
constexpr const char* destination = "to";
// The placeholder for a random hexadecimal digit, and the variable with the first of the two
// addresses that a request may go to (route_files.h).
constexpr const char* random_place = "berth.place";
constexpr const char* first_choice = "first";

Json handle(std::initializer_list<Json> handlers) { return {{"handle", Json(handlers)}}; }

Json with_match(Json match, Json route) {
  route["match"] = Json::array({std::move(match)});
  return route;
}

Json terminal(Json route) {
  route["terminal"] = true;
  return route;
}

Json subroute(std::initializer_list<Json> routes) {
  return {{"handler", "subroute"}, {"routes", Json(routes)}};
}

Json plain_hosts() { return {{"header_regexp", {{"Host", {{"pattern", plain_host}}}}}}; }

Json page(const Json& status, const std::string& title, const std::string& text) {
  return {
      {"handler", "static_response"},
      {"status_code", status},
      {"headers",
       {{"Content-Type", {"text/html; charset=utf-8"}},
        {"Cache-Control", {"no-store"}},
        {"X-Content-Type-Options", {"nosniff"}}}},
      {"body",
       "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
       "content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\"><title>" +
           title +
           "</title><style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;"
           "max-width:40rem;margin:4rem auto;padding:0 1rem}</style></head><body><h1>" +
           title + "</h1>" + text + "</body></html>\n"}};
}

Json with_retry(Json response, const char* seconds) {
  response["headers"]["Retry-After"] = {seconds};
  return response;
}

Json go_on_later(const CaddySettings& settings, const Json& status) {
  constexpr const char* seconds = "5";
  return with_retry(
      page(status, std::string(host) + " isn’t answering",
           "<p>The app behind this address has no container that answers at the moment. Please try "
           "again soon.</p><p>Is it yours? <a href=\"" +
               settings.console_url + "/console\">The console</a> says why it is down.</p>"),
      seconds);
}

Json unknown_host() {
  return page(404, "There is nothing here", "<p>No app has this address.</p>");
}

Json to_berthd(const std::string& socket) {
  return {{"handler", "reverse_proxy"},
          {"headers", {{"request", {{"delete", {"Forwarded"}}}}}},
          {"upstreams", Json::array({{{"dial", "unix/" + socket}}})}};
}

Json file_in(const std::string& directory, std::initializer_list<const char*> patterns) {
  return {{"file", {{"root", directory}, {"try_files", patterns}}}};
}

std::string of_host(const std::filesystem::path& directory) { return (directory / host).string(); }

Json proxy_to(std::initializer_list<const char*> addresses) {
  Json upstreams = Json::array();
  for (const char* address : addresses) upstreams.push_back({{"dial", address}});
  return {
      {"handler", "reverse_proxy"},
      {"transport",
       {{"protocol", "http"},
        {"compression", false},
        {"dial_timeout", dial_timeout},
        {"keep_alive",
         {{"idle_timeout", keep_upstream}, {"max_idle_conns_per_host", max_kept_upstream}}}}},
      // X-Forwarded-For, -Proto and -Host are Caddy's own; what callers sent of them is
      // dropped.
      {"headers",
       {{"request",
         {{"delete", {"Forwarded", "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded-Prefix"}},
          {"set", {{"X-Real-Ip", {"{http.request.remote.host}"}}}}}}}},
      {"upstreams", std::move(upstreams)}};
}

Json without_server() { return {{"handler", "headers"}, {"response", {{"delete", {"Server"}}}}}; }

// The file that is found, and what is looked for in a directory. The pattern is there twice,
// because a file that was found may be gone when it is looked at: then there is another one.
constexpr const char* found_file = "{http.matchers.file.relative}";
constexpr std::initializer_list<const char*> any_file = {"*", "*"};

// Sends the request to the address that the host's directory names.
Json to_container(const CaddySettings& settings) {
  return terminal(with_match(file_in(of_host(settings.directory / "up"), any_file),
                             handle({without_server(), proxy_to({found_file})})));
}

// If several containers answer for the host, sends the request to one of the two that a random
// place names, in turns. A container that doesn't answer has died, and the node hasn't noticed yet:
// then the other one gets the request, unless it has a body, of which a part may have been sent,
// or may not be sent twice. Nothing is remembered of a container that didn't answer: Caddy would
// remember it by the placeholder, which is the same for all hosts.
Json to_containers(const CaddySettings& settings) {
  const std::string place = of_host(settings.directory / "spread") + "/{" + random_place + "}";
  Json match = file_in(place + "/second", any_file);
  match["vars_regexp"] = {{first_choice, {{"pattern", "."}}}};
  Json proxy = proxy_to({"{http.vars.first}", found_file});
  proxy["load_balancing"] = {
      {"selection_policy", {{"policy", "round_robin"}}},
      {"retries", most_retries},
      {"try_duration", tried_for},
      {"try_interval", retry_pause},
      {"retry_match", Json::array({{{"method", {"GET", "HEAD", "OPTIONS"}}}})}};
  const Json random = {
      {"handler", "map"},
      {"source", "{http.request.uuid}"},
      {"destinations", {"{" + std::string(random_place) + "}"}},
      {"mappings", Json::array({{{"input_regexp", "^(.)"}, {"outputs", {"${1}"}}}})}};
  const Json noted = {{"handler", "vars"}, {first_choice, found_file}};
  return handle(
      {random,
       subroute({with_match(file_in(place + "/first", any_file), handle({noted})),
                 terminal(with_match(std::move(match), handle({without_server(), proxy})))})});
}

Json known_host(const CaddySettings& settings) {
  return terminal(with_match(file_in(of_host(settings.directory / "up"), {"/"}),
                             handle({go_on_later(settings, 503)})));
}

Json to_console(const CaddySettings& settings) {
  const Json noted = {{"handler", "vars"}, {destination, "console"}};
  return terminal(with_match({{"host", settings.console_hosts}},
                             handle({noted, to_berthd(settings.console_socket())})));
}

// berthd answers such a request with the address in lower case: Caddy can't make it.
Json other_spelling(const CaddySettings& settings) {
  return terminal(with_match({{"header_regexp", {{"Host", {{"pattern", "[A-Z]"}}}}}},
                             handle({to_berthd(settings.ask_socket())})));
}

// Caddy's question whether it may order a certificate. Nobody else knows the path.
Json question(const CaddySettings& settings) {
  return terminal(with_match({{"path", {"/" + settings.secret + ask_path}}},
                             handle({to_berthd(settings.ask_socket())})));
}

Json to_https(const CaddySettings& settings) {
  constexpr int usual = 443;
  const int port = settings.https->port;
  const std::string target = "https://" + std::string(host) +
                             (port == usual ? "" : ":" + std::to_string(port)) +
                             "{http.request.uri}";
  const Json redirect = {
      {"handler", "static_response"}, {"status_code", 308}, {"headers", {{"Location", {target}}}}};
  return with_match(plain_hosts(),
                    handle({subroute({terminal(with_match(
                        file_in((settings.directory / "secure").string(), {"/{http.request.host}"}),
                        handle({redirect})))})}));
}

Json routes(const CaddySettings& settings) {
  return Json::array(
      {to_console(settings),
       with_match(plain_hosts(), handle({subroute({to_containers(settings), to_container(settings),
                                                   known_host(settings)})})),
       other_spelling(settings), handle({unknown_host()})});
}

// What is answered if berthd or a container doesn't.
Json errors(const CaddySettings& settings) {
  constexpr const char* seconds = "2";
  const Json starting =
      with_retry(page(503, "berth is starting",
                      "<p>Apps are still being served. Please try again in a moment.</p>"),
                 seconds);
  return {{"routes",
           Json::array(
               {terminal(with_match({{"vars", {{destination, {"console"}}}}}, handle({starting}))),
                with_match(plain_hosts(),
                           handle({go_on_later(settings, "{http.error.status_code}")}))})}};
}

Json server(const CaddySettings& settings, const IngressAddress& address, Json list) {
  return {{"listen", {address.text()}},
          {"routes", std::move(list)},
          {"errors", errors(settings)},
          {"protocols", {"h1", "h2"}},
          {"read_header_timeout", head_timeout},
          {"idle_timeout", idle_timeout},
          {"max_header_bytes", max_header_bytes},
          {"automatic_https", {{"disable", true}}},
          {"logs", Json::object()}};
}

Json plain_server(const CaddySettings& settings) {
  Json list = routes(settings);
  if (settings.https) list.insert(list.begin(), {question(settings), to_https(settings)});
  return server(settings, settings.http, std::move(list));
}

Json secure_server(const CaddySettings& settings) {
  Json made = server(settings, *settings.https, routes(settings));
  made["tls_connection_policies"] = Json::array({Json::object()});
  return made;
}

// Certificates are ordered on demand, so that a new host needs no new configuration. berthd makes
// the first handshake of each host itself, as soon as it may have one (served_certificates.h).
Json tls(const CaddySettings& settings) {
  Json issuer = {{"module", "acme"}, {"ca", settings.acme_directory}};
  if (!settings.acme_ca_file.empty()) issuer["trusted_roots_pem_files"] = {settings.acme_ca_file};
  return {{"automation",
           {{"policies", Json::array({{{"on_demand", true}, {"issuers", {issuer}}}})},
            {"on_demand",
             {{"ask", "http://" + settings.http.local() + "/" + settings.secret + ask_path}}}}}};
}

// All lines go to berthd, which counts requests and reads why a certificate couldn't be issued
// (access_log.h). Of a request only the host is written: a line costs a tenth of a request as it
// is. There is one log, because each further one would cost as much, even if it wrote nothing.
Json logging(const CaddySettings& settings) {
  Json fields = Json::object();
  for (const char* dropped : {"request>remote_ip", "request>remote_port", "request>client_ip",
                              "request>proto", "request>method", "request>uri", "request>headers",
                              "request>tls", "resp_headers", "user_id", "bytes_read"})
    fields[dropped] = {{"filter", "delete"}};
  const Json encoder = {
      {"format", "filter"},
      {"wrap", {{"format", "json"}, {"time_key", ""}, {"message_key", settings.secret}}},
      {"fields", fields}};
  return {
      {"logs",
       {{"default",
         {{"writer",
           {{"output", "net"}, {"address", "udp/127.0.0.1:" + std::to_string(settings.log_port)}}},
          {"encoder", encoder},
          {"level", "INFO"}}}}}};
}

}  // namespace

std::string IngressAddress::text() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string IngressAddress::local() const {
  if (host.empty() || host == "0.0.0.0") return IngressAddress{"127.0.0.1", port}.text();
  return host == "::" ? IngressAddress{"::1", port}.text() : text();
}

Json caddy_config(const CaddySettings& settings) {
  Json servers = {{"http", plain_server(settings)}};
  if (settings.https) servers["https"] = secure_server(settings);
  Json http = {{"servers", servers}, {"http_port", settings.http.port}};
  if (settings.https) http["https_port"] = settings.https->port;
  Json apps = {{"http", http}};
  if (settings.https) apps["tls"] = tls(settings);
  return {
      {"admin",
       {{"listen", "unix/" + settings.admin_socket()},
        {"origins", {caddy_admin_host}},
        {"enforce_origin", true},
        {"config", {{"persist", false}}}}},
      {"storage", {{"module", "file_system"}, {"root", (settings.directory / "storage").string()}}},
      {"logging", logging(settings)},
      {"apps", apps}};
}

}  // namespace berth::embedded
