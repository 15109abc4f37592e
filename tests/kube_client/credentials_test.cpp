#include "reconcilers/kube/credentials.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "tests/kube_client/api_server.h"
#include "tests/temp_dir.h"

using namespace berth;
using namespace berth::kube;
using berth::test::TempDir;

namespace {

// A server that returns the Authorization that it got, and refuses one of them.
struct Echo {
  std::string refused;
  ApiServer server{[this](const httplib::Request& request, httplib::Response& response) {
    const std::string shown = request.get_header_value("Authorization");
    if (!refused.empty() && shown == refused) return refuse(response, 401, "Unauthorized", "who?");
    response.set_content(shown, "text/plain");
  }};
};

// Replaces the text so that size, times and inode stay the same.
void replace_unseen(const std::filesystem::path& file, const std::string& text) {
  struct stat before {};
  REQUIRE(::stat(file.c_str(), &before) == 0);
  std::ofstream(file, std::ios::binary) << text;
  const timespec times[] = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("tokens and basic authentication are sent") {
  Echo echo;
  Kubeconfig config = echo.server.config();
  CHECK(Client(config).raw("/").empty());
  config.username = "me";
  config.password = "pass:word";
  CHECK(Client(config).raw("/") == "Basic " + base64("me:pass:word"));
  config.token = " abc\n";
  CHECK(Client(config).raw("/") == "Bearer abc");
}

TEST_CASE("a token that would add a header is refused and not shown") {
  Echo echo;
  Kubeconfig config = echo.server.config();
  config.token = "hunter2\r\nX-Admin: yes";
  const ApiError error = error_from([&] { Client(config).raw("/"); });
  CHECK(error.unreachable());
  CHECK_THAT(error.what(), !Catch::Contains("hunter2"));
  CHECK(echo.server.seen().empty());
}

TEST_CASE("a token file is read again when it changes, and its text is kept while it is missing") {
  const TempDir dir;
  Echo echo;
  Kubeconfig config = echo.server.config();
  config.token_file = dir.write("token", "first\n");
  config.token = "never";
  Client client(config);
  CHECK(client.raw("/") == "Bearer first");
  dir.write("token", "second!\n");
  CHECK(client.raw("/") == "Bearer second!");
  dir.write("token", "");
  CHECK(client.raw("/") == "Bearer second!");
  std::filesystem::remove(dir / "token");
  CHECK(client.raw("/") == "Bearer second!");
  dir.write("next", "third");
  std::filesystem::rename(dir / "next", dir / "token");
  CHECK(client.raw("/") == "Bearer third");
}

TEST_CASE("a 401 makes a token file be read at once, even if it seems unchanged") {
  const TempDir dir;
  Echo echo;
  Kubeconfig config = echo.server.config();
  config.token_file = dir.write("token", "aaaa");
  std::vector<int> statuses;
  ClientOptions options;
  options.observer = [&](std::string_view, std::string_view, int status, std::chrono::nanoseconds) {
    statuses.push_back(status);
  };
  Client client(config, options);
  CHECK(client.raw("/") == "Bearer aaaa");
  replace_unseen(dir / "token", "bbbb");
  CHECK(client.raw("/") == "Bearer aaaa");
  echo.refused = "Bearer aaaa";
  CHECK(client.raw("/") == "Bearer bbbb");
  CHECK(statuses == std::vector<int>{200, 200, 401, 200});
}

TEST_CASE("a second 401 in a row is returned") {
  Echo echo;
  echo.refused = "Bearer bad";
  Kubeconfig config = echo.server.config();
  config.token = "bad";
  const ApiError error = error_from([&] { Client(config).raw("/"); });
  CHECK(error.status == 401);
  CHECK(error.reason == "Unauthorized");
  CHECK(std::string(error.what()) == "who?");
  CHECK(echo.server.seen().size() == 2);
}

TEST_CASE("unreadable credentials make the cluster unreachable") {
  const TempDir dir;
  Echo echo;
  Kubeconfig config = echo.server.config();
  config.token_file = dir / "gone";
  const ApiError error = error_from([&] { Client(config).raw("/"); });
  CHECK(error.unreachable());
  CHECK_THAT(error.what(), Catch::Contains("gone: No such file"));
}
