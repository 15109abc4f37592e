#include <catch2/catch.hpp>
#include <set>

#include "tests/kube_client/api_server.h"

using namespace berth::kube;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const json deployment = {{"apiVersion", "apps/v1"},
                         {"kind", "Deployment"},
                         {"metadata", {{"name", "web"}, {"namespace", "shop"}}}};

struct Asked {
  std::string method, target, content_type;
  json body;
};

Asked last(const ApiServer& server) {
  const httplib::Request request = server.seen().back();
  return {request.method, request.target, request.get_header_value("Content-Type"),
          json::parse(request.body, nullptr, false)};
}

json secret_list(int first, int count, const std::string& next) {
  json items = json::array();
  for (int i = first; i < first + count; ++i)
    items.push_back({{"metadata", {{"name", "s" + std::to_string(i)}}}});
  json metadata = {{"resourceVersion", "42"}};
  if (!next.empty()) metadata["continue"] = next;
  return {{"kind", "SecretList"}, {"apiVersion", "v1"}, {"metadata", metadata}, {"items", items}};
}

}  // namespace

TEST_CASE("each verb sends the request that the API server's documentation describes") {
  ApiServer server([](const httplib::Request& request, httplib::Response& response) {
    if (request.method == "GET") return answer_json(response, {{"kind", "Found"}});
    answer_json(response, request.body.empty() ? json::object() : json::parse(request.body));
  });
  Client client(server.config());

  CHECK(client.get(secrets, "shop", "a b")->at("kind") == "Found");
  CHECK(last(server).target == "/api/v1/namespaces/shop/secrets/a%20b");
  client.get(namespaces, "ignored", "shop");
  CHECK(last(server).target == "/api/v1/namespaces/shop");

  CHECK(client.apply(deployment) == deployment);
  CHECK(last(server).method == "PATCH");
  CHECK(last(server).target ==
        "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=berth&force=true");
  CHECK(last(server).content_type == "application/apply-patch+yaml");
  CHECK(last(server).body == deployment);

  CHECK(client.merge(deployment) == deployment);
  CHECK(last(server).method == "PATCH");
  CHECK(last(server).target == "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=berth");
  CHECK(last(server).content_type == "application/merge-patch+json");

  CHECK(client.create(deployment) == deployment);
  CHECK(last(server).method == "POST");
  CHECK(last(server).target == "/apis/apps/v1/namespaces/shop/deployments?fieldManager=berth");
  CHECK(last(server).content_type == "application/json");

  json versioned = deployment;
  versioned["metadata"]["resourceVersion"] = "7";
  CHECK(client.update(versioned) == versioned);
  CHECK(last(server).method == "PUT");
  CHECK(last(server).target == "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=berth");

  CHECK(client.remove(deployments, "shop", "web", "u-1"));
  CHECK(last(server).method == "DELETE");
  CHECK(last(server).target == "/apis/apps/v1/namespaces/shop/deployments/web");
  CHECK(last(server).body == json({{"apiVersion", "v1"},
                                   {"kind", "DeleteOptions"},
                                   {"propagationPolicy", "Background"},
                                   {"preconditions", {{"uid", "u-1"}}}}));
  CHECK(client.remove(deployments, "shop", "web"));
  CHECK_FALSE(last(server).body.contains("preconditions"));

  client.logs("shop", "web-1", 50, true);
  CHECK(last(server).target ==
        "/api/v1/namespaces/shop/pods/web-1/log?tailLines=50&limitBytes=4194304&previous=true");
}

TEST_CASE("a request without a name or a namespace isn't sent, since it would mean all of them") {
  ApiServer server([](const auto&, httplib::Response& response) { answer_json(response, {}); });
  Client client(server.config());
  for (const std::string name : {"", ".", "..", "a/b", "a%2fb"}) {
    CHECK_THROWS_AS(client.get(secrets, "shop", name), std::invalid_argument);
    CHECK_THROWS_AS(client.remove(secrets, "shop", name), std::invalid_argument);
    CHECK_THROWS_AS(client.remove(secrets, name, "x"), std::invalid_argument);
    CHECK_THROWS_AS(client.logs("shop", name, 1, false), std::invalid_argument);
  }
  CHECK_THROWS_AS(client.list(secrets, {"..", "", ""}), std::invalid_argument);
  CHECK_THROWS_AS(client.apply({{"apiVersion", "v1"}, {"kind", "Secret"}}), std::invalid_argument);
  CHECK_THROWS_AS(client.apply({{"apiVersion", "v2"}, {"kind", "Secret"}}), std::invalid_argument);
  CHECK_THROWS_AS(client.apply("text"), std::invalid_argument);
  CHECK_THROWS_AS(client.create({{"apiVersion", "v1"}, {"kind", "Secret"}}), std::invalid_argument);
  CHECK_THROWS_AS(client.update(deployment), std::invalid_argument);
  CHECK_THROWS_AS(client.raw("version"), std::invalid_argument);
  CHECK_THROWS_AS(client.raw("/a b"), std::invalid_argument);
  CHECK(server.seen().empty());
}

TEST_CASE("a refusal says what the Status object says") {
  ApiServer server([](const httplib::Request& request, httplib::Response& response) {
    if (request.path.ends_with("/foreign")) {
      response.status = 502;
      return response.set_content("<h1>bad\ngateway</h1>", "text/html");
    }
    refuse(response, 403, "Forbidden", "secrets is forbidden");
  });
  Client client(server.config());
  const ApiError refused = error_from([&] { client.apply(deployment); });
  CHECK(refused.status == 403);
  CHECK(refused.reason == "Forbidden");
  CHECK(std::string(refused.what()) == "secrets is forbidden");
  CHECK_FALSE(refused.unreachable());
  const ApiError foreign = error_from([&] { client.get(secrets, "shop", "foreign"); });
  CHECK(foreign.status == 502);
  CHECK(foreign.reason.empty());
  CHECK_THAT(foreign.what(), Catch::Contains("HTTP 502 <h1>bad gateway</h1>"));
}

TEST_CASE("a missing object is told apart from a missing kind") {
  ApiServer server([](const httplib::Request& request, httplib::Response& response) {
    if (request.path.find("cert-manager") == std::string::npos)
      return refuse(response, 404, "NotFound");
    response.status = 404;
    response.set_content("404 page not found\n", "text/plain");
  });
  Client client(server.config());
  CHECK_FALSE(client.get(secrets, "shop", "x"));
  CHECK_FALSE(client.remove(secrets, "shop", "x"));
  CHECK(error_from([&] { client.get(certificates, "shop", "x"); }).status == 404);
  CHECK(error_from([&] { client.remove(certificates, "shop", "x"); }).status == 404);
  CHECK(error_from([&] { client.logs("shop", "x", 1, false); }).status == 404);
}

TEST_CASE("the result of a deletion that is refused with 409 depends on what exists") {
  json there;
  ApiServer server([&](const httplib::Request& request, httplib::Response& response) {
    if (request.method == "DELETE") return refuse(response, 409, "Conflict", "Precondition failed");
    there.is_null() ? refuse(response, 404, "NotFound") : answer_json(response, there);
  });
  Client client(server.config());
  CHECK_FALSE(client.remove(secrets, "shop", "x", "u-1"));
  there = {{"metadata", {{"uid", "u-2"}}}};
  CHECK_FALSE(client.remove(secrets, "shop", "x", "u-1"));
  CHECK(error_from([&] { client.remove(secrets, "shop", "x", "u-2"); }).status == 409);
  CHECK(error_from([&] { client.remove(secrets, "shop", "x"); }).status == 409);
  there["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z";
  CHECK(client.remove(secrets, "shop", "x", "u-2"));
  CHECK_FALSE(client.remove(secrets, "shop", "x", "u-1"));
}

TEST_CASE("a list is read in pages, and its items know what they are") {
  ApiServer server([](const httplib::Request& request, httplib::Response& response) {
    const std::string next = request.get_param_value("continue");
    if (next.empty()) return answer_json(response, secret_list(0, 2, "a&b="));
    answer_json(response, secret_list(2, 1, ""));
  });
  Client client(server.config());
  const List list = client.list(secrets, {"shop", "app in (a,b)", "metadata.name!=x"});
  CHECK(list.resource_version == "42");
  REQUIRE(list.items.size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(list.items[i]["apiVersion"] == "v1");
    CHECK(list.items[i]["kind"] == "Secret");
    CHECK(list.items[i]["metadata"]["name"] == "s" + std::to_string(i));
  }
  const auto seen = server.seen();
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].target ==
        "/api/v1/namespaces/shop/secrets?labelSelector=app%20in%20%28a%2Cb%29&"
        "fieldSelector=metadata.name%21%3Dx&limit=100&continue=a%26b%3D");
  client.list(secrets, {});
  CHECK(server.seen()[2].path == "/api/v1/secrets");
  const List names =
      client.list(secrets, {}, [](Object item) { return Object(item["metadata"]["name"]); });
  CHECK(names.items == std::vector<Object>{"s0", "s1", "s2"});
}

TEST_CASE("a list whose token is too old starts over, once") {
  std::atomic<int> expirations = 1;
  ApiServer server([&](const httplib::Request& request, httplib::Response& response) {
    const bool first = !request.has_param("continue");
    if (first) return answer_json(response, secret_list(0, 2, "t"));
    if (expirations-- > 0) return refuse(response, 410, "Expired");
    answer_json(response, secret_list(2, 1, ""));
  });
  Client client(server.config());
  CHECK(client.list(secrets, {}).items.size() == 3);
  CHECK(server.seen().size() == 4);
  expirations = 2;
  CHECK(error_from([&] { client.list(secrets, {}); }).expired());
  CHECK(server.seen().size() == 8);
}

TEST_CASE("an answer that is no object is refused without being quoted") {
  std::string body;
  ApiServer server([&](const httplib::Request&, httplib::Response& response) {
    response.set_content(body, "application/json");
  });
  Client client(server.config());
  for (const std::string& text :
       {std::string(R"({"hunter2)"), std::string("[]"), std::string("hunter2"), std::string(),
        R"({"a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}"}) {
    body = text;
    const ApiError error = error_from([&] { client.get(secrets, "shop", "x"); });
    CHECK(error.status == 0);
    CHECK_THAT(error.what(), Catch::Contains("GET /api/v1/namespaces/shop/secrets/x: "));
    CHECK_THAT(error.what(), !Catch::Contains("hunter2"));
  }
  for (const char* text : {"{}", R"({"items":3})", R"({"items":[3]})"}) {
    body = text;
    CHECK(error_from([&] { client.list(secrets, {}); }).status == 0);
  }
}

TEST_CASE("an answer that is too large is cut off") {
  ApiServer server([](const httplib::Request&, httplib::Response& response) {
    response.set_content(std::string((4 << 20) + 2, 'x'), "text/plain");
  });
  const ApiError error = error_from([&] { Client(server.config()).logs("shop", "x", 1, false); });
  CHECK(error.status == 0);
  CHECK_THAT(error.what(), Catch::Contains("larger than"));
}

TEST_CASE("redirects aren't followed") {
  ApiServer server([](const httplib::Request& request, httplib::Response& response) {
    if (request.path == "/a") response.set_redirect("/b");
  });
  CHECK(error_from([&] { Client(server.config()).raw("/a"); }).status == 302);
  CHECK(server.seen().size() == 1);
}

TEST_CASE("a server that says when to come back is asked again then") {
  std::atomic<int> refusals = 0;
  std::atomic<int> code = 429;
  std::string after = "0";
  ApiServer server([&](const httplib::Request&, httplib::Response& response) {
    if (refusals-- <= 0) return response.set_content("ok", "text/plain");
    refuse(response, code, "TooManyRequests", "slow down");
    if (!after.empty()) response.set_header("Retry-After", after);
  });
  std::vector<std::pair<std::string, int>> observed;
  ClientOptions options;
  options.max_retries = 2;
  options.max_retry_after = 1s;
  options.observer = [&](std::string_view verb, std::string_view, int status,
                         std::chrono::nanoseconds took) {
    CHECK(took > 0ns);
    observed.emplace_back(verb, status);
  };
  Client client(server.config(), options);
  SECTION("as often as it may") {
    code = GENERATE(429, 503);
    refusals = 2;
    CHECK(client.raw("/") == "ok");
    CHECK(observed ==
          std::vector<std::pair<std::string, int>>{{"get", code}, {"get", code}, {"get", 200}});
  }
  SECTION("and no more") {
    refusals = 3;
    const ApiError error = error_from([&] { client.raw("/"); });
    CHECK(error.status == 429);
    CHECK(error.retry_after == 0s);
    CHECK(std::string(error.what()) == "slow down");
    CHECK(observed.size() == 3);
  }
  SECTION("after the time it says, up to a limit") {
    after = "1000";
    refusals = 1;
    const auto start = std::chrono::steady_clock::now();
    CHECK(client.raw("/") == "ok");
    const auto took = std::chrono::steady_clock::now() - start;
    CHECK(took >= 1s);
    CHECK(took < 30s);
  }
  SECTION("at a date that has passed") {
    after = "Thu, 01 Jan 2015 00:00:00 GMT";
    refusals = 1;
    CHECK(client.raw("/") == "ok");
  }
  SECTION("not when it doesn't say when, or is merely broken") {
    after = GENERATE("", "soon");
    refusals = 1;
    CHECK(error_from([&] { client.raw("/"); }).status == 429);
    code = 500;
    after = "0";
    refusals = 1;
    CHECK(error_from([&] { client.raw("/"); }).status == 500);
  }
}

TEST_CASE("destroying a client ends waiting requests and those without an answer") {
  std::atomic<bool> over = false;
  ApiServer server([&](const httplib::Request& request, httplib::Response& response) {
    refuse(response, 429, "TooManyRequests");
    response.set_header("Retry-After", "60");
    if (request.path == "/slow") comes_true([&] { return over.load(); });
  });
  const std::string path = GENERATE("/slow", "/retry");
  ClientOptions options;
  options.max_retry_after = 60s;
  auto client = std::make_unique<Client>(server.config(), options);
  std::atomic<int> status = -2;
  std::jthread caller(
      [&, raw = client.get()] { status = error_from([&] { raw->raw(path); }).status; });
  REQUIRE(comes_true([&] { return server.seen().size() == 1; }));
  const auto start = std::chrono::steady_clock::now();
  client.reset();
  CHECK(std::chrono::steady_clock::now() - start < 2s);
  over = true;
  caller.join();
  CHECK(status == 0);
}

TEST_CASE("a server that doesn't exist or doesn't answer is unreachable") {
  std::vector<int> observed;
  ClientOptions options;
  options.request_timeout = 1s;
  options.observer = [&](std::string_view, std::string_view, int status, std::chrono::nanoseconds) {
    observed.push_back(status);
  };
  Kubeconfig config;
  std::atomic<bool> over = false;
  std::unique_ptr<ApiServer> server = std::make_unique<ApiServer>(
      [&](const auto&, auto&) { comes_true([&] { return over.load(); }); });
  config = server->config();
  CHECK(error_from([&] { Client(config, options).raw("/"); }).unreachable());
  over = true;
  server.reset();
  CHECK(error_from([&] { Client(config, options).raw("/"); }).unreachable());
  CHECK(observed == std::vector<int>{0, 0});
}

TEST_CASE("connections are kept, and opened again when the server has closed them") {
  ApiServer server([](const httplib::Request& request, httplib::Response& response) {
    if (request.path == "/last") response.set_header("Connection", "close");
    response.set_content(std::to_string(request.remote_port), "text/plain");
  });
  Client client(server.config());
  const std::string first = client.raw("/");
  CHECK(client.raw("/") == first);
  CHECK(client.raw("/last") == first);
  CHECK(client.raw("/") != first);
}

TEST_CASE("several threads call at once") {
  std::atomic<int> inside = 0;
  ApiServer server([&](const httplib::Request& request, httplib::Response& response) {
    ++inside;  // none is answered before four are here at the same time
    comes_true([&] { return inside.load() >= 4; });
    response.set_content(request.path, "text/plain");
  });
  Client client(server.config());
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back(
          [&, path = "/" + std::to_string(i)] { right += client.raw(path) == path; });
  }
  CHECK(right == 4);
}

TEST_CASE("a server that a kubeconfig may not name is refused by the client too") {
  Kubeconfig config;
  config.server = "http://example.com";
  CHECK_THROWS_AS(Client(config), std::invalid_argument);
}
