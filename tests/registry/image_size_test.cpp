#include "reconcilers/registry/image_size.h"

#include <catch2/catch.hpp>

#include "tests/registry/server.h"

using namespace berth::registry;
using berth::registry::test::layer;
using berth::registry::test::manifest;
using berth::registry::test::Server;
using nlohmann::json;

namespace {

constexpr std::uint64_t any_size = ~std::uint64_t(0);

std::uint64_t size_in(const Server& server, const std::string& reference = "1",
                      const std::optional<Credentials>& credentials = {}) {
  KnownSizes known;
  return image_size({server.host(), "acme/web", reference}, credentials, any_size, known, {});
}

// Returns what makes the image's size unknown to its owner; empty if it is known.
std::string unmeasurable(const json& stored) {
  Server server;
  server.store("acme/web", "1", stored);
  try {
    size_in(server);
  } catch (const Unmeasurable& error) {
    return error.what();
  }
  return "";
}

// Returns what became of a question that gets no answer.
Unanswered unanswered(const Server& server, const std::optional<Credentials>& credentials = {}) {
  try {
    size_in(server, "1", credentials);
  } catch (const Unanswered& error) {
    return error;
  }
  return {"there was an answer", false};
}

json entry(const std::string& digest, const std::string& architecture,
           const std::string& os = "linux") {
  return {{"digest", "sha256:" + digest},
          {"platform", {{"os", os}, {"architecture", architecture}}}};
}

}  // namespace

TEST_CASE("an image is as large as its different layers together") {
  Server server;
  server.store("acme/web", "1", manifest({layer("a", 30), layer("b", 12), layer("a", 30)}));
  server.store("acme/web", "empty", manifest({}));
  CHECK(size_in(server) == 42);
  CHECK(size_in(server, "empty") == 0);
  // Sums that have no room in 64 bits are the largest number, and not a small one.
  const std::uint64_t most = ~std::uint64_t(0);
  server.store("acme/web", "huge", manifest({layer("a", most - 1), layer("b", 12)}));
  CHECK(size_in(server, "huge") == most);
}

TEST_CASE("an image for several platforms is as large as the largest that a node may run") {
  Server server;
  server.store("acme/web", "1",
               json{{"manifests",
                     {entry("a", "amd64"), entry("b", "arm64"), entry("c", "s390x"),
                      entry("d", "amd64", "windows"), entry("e", "unknown")}}});
  server.store("acme/web", "sha256:a", manifest({layer("1", 10)}));
  server.store("acme/web", "sha256:b", manifest({layer("2", 20)}));
  CHECK(size_in(server) == 20);
  CHECK(server.asked() == std::vector<std::string>{"1", "sha256:a", "sha256:b"});
}

TEST_CASE("a manifest that gives no size isn't taken for a small image") {
  CHECK(unmeasurable(json::array()) == "its manifest is of a kind that has no sizes");
  CHECK(unmeasurable({{"fsLayers", json::array()}}) != "");
  CHECK(unmeasurable(manifest({layer("a", -1)})) == "its manifest has a layer without a size");
  CHECK(unmeasurable(manifest({layer("a", 1.5)})) != "");
  CHECK(unmeasurable(manifest({layer("a", "1")})) != "");
  CHECK(unmeasurable(manifest({json{{"size", 1}}})) != "");
  CHECK(unmeasurable(manifest({json(7)})) != "");
  CHECK(unmeasurable({{"manifests", {entry("a", "s390x")}}}) ==
        "it has no image for Linux on amd64 or arm64");
  CHECK(unmeasurable({{"manifests", json::array({7, json::object()})}}) != "");
  CHECK(unmeasurable({{"manifests", {entry("../../x", "amd64")}}}) ==
        "its index has an entry without a digest");
  json many = json::array();
  for (size_t i = 0; i <= max_images_asked; ++i) many.push_back(entry(std::to_string(i), "amd64"));
  CHECK(unmeasurable({{"manifests", many}}) ==
        "it has more than 8 images for Linux on amd64 and arm64");
}

TEST_CASE("a manifest larger than registries take isn't read to its end") {
  Server server;
  server.store("acme/web", "1", std::string(max_manifest_bytes + 1, ' '));
  CHECK_THROWS_AS(size_in(server), Unmeasurable);
  server.store("acme/web", "1", std::string("not JSON"));
  CHECK_THROWS_AS(size_in(server), Unmeasurable);
}

TEST_CASE("a registry that wants a token names the place that gives it") {
  Server server;
  std::string query;
  std::string password;
  server.answer("/token", [&](const httplib::Request& request, httplib::Response& response) {
    query = request.get_param_value("service") + " " + request.get_param_value("scope");
    password = request.get_header_value("Authorization");
    response.set_content(R"({"access_token":"abc"})", "application/json");
  });
  server.guard([&](const httplib::Request& request, httplib::Response& response) {
    if (request.get_header_value("Authorization") == "Bearer abc") return true;
    response.status = 401;
    response.set_header("WWW-Authenticate",
                        "Bearer realm=\"" + server.url() + "/token\",service=\"the registry\"");
    return false;
  });
  server.store("acme/web", "1", json{{"manifests", {entry("a", "amd64")}}});
  server.store("acme/web", "sha256:a", manifest({layer("a", 7)}));
  CHECK(size_in(server) == 7);
  CHECK(query == "the registry repository:acme/web:pull");
  CHECK(password.empty());
  // The token is asked for once, with the password, and used for everything.
  CHECK(server.heads() == std::vector<std::string>{"1", "1"});
  CHECK(server.asked() == std::vector<std::string>{"1", "sha256:a"});
  CHECK(size_in(server, "1", Credentials{"ada", "secret"}) == 7);
  CHECK(password == "Basic YWRhOnNlY3JldA==");
}

TEST_CASE("a registry that wants a password gets it") {
  Server server;
  server.store("acme/web", "1", manifest({layer("a", 7)}));
  server.guard([](const httplib::Request& request, httplib::Response& response) {
    if (request.get_header_value("Authorization") == "Basic YWRhOnNlY3JldA==") return true;
    response.status = 401;
    response.set_header("WWW-Authenticate", "Basic realm=\"Registry\"");
    return false;
  });
  CHECK(size_in(server, "1", Credentials{"ada", "secret"}) == 7);
  const Unanswered wrong = unanswered(server, Credentials{"ada", "wrong"});
  CHECK(wrong.what() == std::string("the registry answered with 401"));
  CHECK_FALSE(wrong.busy);
}

TEST_CASE("a question without an answer says whether the registry is busy") {
  Server server;
  CHECK_FALSE(unanswered(server).busy);  // it has no such image
  for (const int status : {429, 500, 503}) {
    server.guard([status](const httplib::Request&, httplib::Response& response) {
      response.status = status;
      return false;
    });
    CHECK(unanswered(server).busy);
  }
  KnownSizes known;
  CHECK_THROWS_AS(image_size({"127.0.0.1:1", "acme/web", "1"}, {}, any_size, known, {}),
                  Unanswered);
}

TEST_CASE("a place for tokens that isn't one gets no password") {
  for (const std::string realm : {"file:///etc/passwd", "nonsense", "http://127.0.0.1/#", ""}) {
    Server server;
    server.guard([&](const httplib::Request&, httplib::Response& response) {
      response.status = 401;
      response.set_header("WWW-Authenticate", "Bearer realm=\"" + realm + "\"");
      return false;
    });
    CHECK(unanswered(server).what() ==
          std::string("the registry names no place that gives tokens"));
    CHECK(server.heads().size() == 1);
    CHECK(server.asked().empty());
  }
}

TEST_CASE("a registry that sends its clients round in circles is left") {
  Server server;
  server.guard([&](const httplib::Request& request, httplib::Response& response) {
    response.set_redirect(server.url() + request.path);
    return false;
  });
  CHECK(unanswered(server).busy);
  CHECK(server.heads().size() == size_t(max_redirects) + 1);
}

TEST_CASE("a stop breaks a question off") {
  Server server;
  server.store("acme/web", "1", manifest({layer("a", 7)}));
  std::stop_source stop;
  stop.request_stop();
  KnownSizes known;
  CHECK_THROWS_AS(
      image_size({server.host(), "acme/web", "1"}, {}, any_size, known, stop.get_token()),
      Unanswered);
}

TEST_CASE("each kind of manifest is measured or refused, and none is taken for a small image") {
  const json plain = manifest({layer("1", 10)});
  const auto index = [](std::vector<json> entries) { return json{{"manifests", entries}}; };
  const json bare = {{"digest", "sha256:a"}};  // an entry without a platform
  json many_layers = json::array();
  for (size_t i = 0; i <= max_layers; ++i) many_layers.push_back(layer(std::to_string(i), 1));
  json elsewhere = layer("1", 10);
  elsewhere["urls"] = {"https://cdn.example/layer"};
  json sha512 = layer("1", 10);
  sha512["digest"] = "sha512:" + std::string(128, 'a');
  json md5 = layer("1", 10);
  md5["digest"] = "md5:" + std::string(32, 'a');
  const json ladder = {{"digest", "sha256:x"}};  // sha256:x is an index that has only itself

  struct Row {
    const char* what;
    json stored;
    std::optional<std::uint64_t> size;  // empty: it is refused
  };
  const Row rows[] = {
      {"an image", plain, 10},
      {"its configuration counts", {{"config", layer("c", 5)}, {"layers", {layer("1", 10)}}}, 15},
      {"an index without platforms", index({bare}), 20},
      {"an index with and without", index({bare, entry("b", "arm64")}), 30},
      {"an index within an index", index({{{"digest", "sha256:i"}}}), 30},
      {"an index that names itself", index({ladder}), std::nullopt},
      {"sha512", manifest({sha512}), 10},
      {"another digest", manifest({md5}), std::nullopt},
      {"a layer from elsewhere", manifest({elsewhere}), std::nullopt},
      {"more layers than can be mounted", manifest(many_layers), std::nullopt},
      {"an empty index", index({}), std::nullopt},
      {"an index of attestations", index({entry("b", "unknown", "unknown")}), std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Server server;
    server.store("acme/web", "1", row.stored);
    server.store("acme/web", "sha256:a", manifest({layer("2", 20)}));
    server.store("acme/web", "sha256:b", manifest({layer("3", 30)}));
    server.store("acme/web", "sha256:i", index({entry("b", "amd64")}));
    json self = index({ladder, {{"digest", "sha256:y"}}});
    server.store("acme/web", "sha256:x", self);
    server.store("acme/web", "sha256:y", index({{{"digest", "sha256:z"}}}));
    server.store("acme/web", "sha256:z", self);
    if (row.size)
      CHECK(size_in(server) == *row.size);
    else
      CHECK_THROWS_AS(size_in(server), Unmeasurable);
  }
}

TEST_CASE("the registry's sizes count, and not those that the author of the manifest wrote") {
  Server server;
  server.store("acme/web", "1", manifest({layer("a", 1), layer("b", 30)}));
  server.store_blob("a", 5'000'000'000);
  server.store_blob("b", 20);
  server.store_blob("c", 7);
  CHECK(size_in(server) == 5'000'000'037);
  CHECK(server.blobs_asked() == std::vector<std::string>{"sha256:a", "sha256:b", "sha256:c"});
  // What is too large by its own words isn't asked about further.
  KnownSizes known;
  CHECK(image_size({server.host(), "acme/web", "1"}, {}, 30, known, {}) == 31);
  CHECK(server.blobs_asked().size() == 3);
}

TEST_CASE("a registry that doesn't say how large a layer is has given no answer") {
  Server server;
  server.store("acme/web", "1", manifest({layer("a", 1)}));
  for (const int status : {401, 403, 405, 429, 500, 502}) {
    server.guard([status](const httplib::Request& request, httplib::Response& response) {
      if (request.path.find("/blobs/") == std::string::npos) return true;
      response.status = status;
      return false;
    });
    CHECK_THROWS_AS(size_in(server), Unanswered);
  }
}

TEST_CASE("an image that was measured costs a request that isn't counted as a pull") {
  Server server;
  server.push("acme/web", "1", manifest({layer("a", 42)}));
  KnownSizes known;
  const auto size = [&](const std::string& reference) {
    return image_size({server.host(), "acme/web", reference}, {}, any_size, known, {});
  };
  for (int i = 0; i < 5; ++i) CHECK(size("1") == 42);
  CHECK(server.heads().size() == 5);
  CHECK(server.asked().size() == 1);
  server.push("acme/web", "2", manifest({layer("a", 42)}));
  CHECK(size("2") == 42);
  CHECK(server.asked().size() == 1);
  // The tag leads elsewhere, and the registry refuses: what is known doesn't help.
  server.push("acme/web", "1", manifest({layer("a", 43)}));
  CHECK(size("1") == 43);
  server.guard([](const httplib::Request&, httplib::Response& response) {
    response.status = 403;
    return false;
  });
  CHECK_THROWS_AS(size("1"), Unanswered);
}

TEST_CASE("the sizes that are known are limited in number") {
  KnownSizes known;
  for (size_t i = 0; i <= KnownSizes::most; ++i) known.add(std::to_string(i), i);
  CHECK_FALSE(known.find("0"));
  CHECK(known.find("1") == 1);
  CHECK(known.find(std::to_string(KnownSizes::most)) == KnownSizes::most);
}

TEST_CASE("the digest of a tag costs one HEAD request, and is what the registry says") {
  Server server;
  server.push("acme/web", "main", manifest({layer("a", 30)}));
  const auto digest = [&](const std::string& tag) {
    return tag_digest({server.host(), "acme/web", tag}, {}, {});
  };
  const std::string first = digest("main");
  CHECK(first.starts_with("sha256:"));
  CHECK(digest("main") == first);
  server.push("acme/web", "main", manifest({layer("b", 30)}));
  CHECK(digest("main") != first);
  CHECK_THROWS_AS(digest("missing"), Unanswered);
}
