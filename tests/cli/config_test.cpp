#include "cli/config.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "cli/credentials.h"
#include "cli/failure.h"
#include "tests/process/berthd.h"

using namespace berth::cli;
using berth::process::TempDir;

namespace {

Exit exit_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.exit;
  }
  return Exit::ok;
}

int mode_of(const std::filesystem::path& path) {
  struct stat seen = {};
  REQUIRE(::stat(path.c_str(), &seen) == 0);
  return int(seen.st_mode & 07777);
}

}  // namespace

TEST_CASE("places follow XDG, and relative paths in its variables are ignored") {
  ::setenv("HOME", "/home/ada", 1);
  ::setenv("XDG_CONFIG_HOME", "relative", 1);
  ::setenv("XDG_STATE_HOME", "/state", 1);
  CHECK(places().config_file == "/home/ada/.config/berth/config.yaml");
  CHECK(places().state_dir == "/state/berth");
  ::unsetenv("HOME");
  // Without a home there is no configuration.
  CHECK(places().config_file.empty());
  CHECK(load_config(places().config_file).server == std::nullopt);
  CHECK(exit_of([] { set_config(places().config_file, "output", "json"); }) == Exit::usage);
  ::unsetenv("XDG_CONFIG_HOME");
  ::unsetenv("XDG_STATE_HOME");
  CHECK(places().state_dir.empty());
  CredentialStore store(places().state_dir);
  CHECK(store.load("http://a").apps.empty());
  CHECK(exit_of([&] { store.update("http://a", [](Account&) {}); }) == Exit::usage);
}

TEST_CASE("a value from the environment has no line end, and no second line") {
  const auto value = [](const char* text) {
    ::setenv("BERTH_TEST_LINE", text, 1);
    return one_line("BERTH_TEST_LINE");
  };
  for (const char* text :
       {"at_live_x", "at_live_x\n", "at_live_x\r\n", " at_live_x\n\n", "\tat_live_x "})
    CHECK(value(text) == "at_live_x");
  for (const char* text : {"", "\n", " "}) CHECK(value(text) == std::nullopt);
  for (const char* text : {"a\nb", "a\r\nX-Header: b\n", "a\tb", "a\x7f"})
    CHECK(exit_of([&] { value(text); }) == Exit::usage);
}

TEST_CASE("an invalid configuration is explained") {
  const TempDir dir;
  CHECK(load_config(dir.path() / "absent.yaml").server == std::nullopt);
  CHECK(load_config(dir.write("empty", "\n")).server == std::nullopt);
  const Config config = load_config(
      dir.write("good", "server: https://berth.example.org\noutput: json\nbrowser: false\n"));
  CHECK(config.server == "https://berth.example.org");
  CHECK(config.browser == false);
  for (const char* text :
       {"servr: x", "server: 3", "browser: maybe", "output: xml", "- a", "a: ["}) {
    CAPTURE(text);
    CHECK(exit_of([&] { load_config(dir.write("bad", text)); }) == Exit::usage);
  }
}

TEST_CASE("setting a default keeps the others") {
  const TempDir dir;
  const auto file = dir.path() / "new" / "config.yaml";
  set_config(file, "server", "https://berth.example.org");
  set_config(file, "browser", "false");
  set_config(file, "output", "yaml");
  set_config(file, "output", "");
  const Config config = load_config(file);
  CHECK(config.server == "https://berth.example.org");
  CHECK(config.browser == false);
  CHECK(config.output == std::nullopt);
  CHECK(exit_of([&] { set_config(file, "server", "ftp://x"); }) == Exit::usage);
  CHECK(load_config(file).server == "https://berth.example.org");
}

TEST_CASE("setting a default keeps comments, the link and the mode of the file") {
  const TempDir dir;
  const std::string before =
      "# of the team\n"
      "server: https://berth.example.org   # the shared one\n"
      "\n"
      "output:    json\n"
      "# the end\n";
  const std::filesystem::path file = dir.write("real/config.yaml", before);
  ::chmod(file.c_str(), 0600);
  const auto link = dir.path() / "config.yaml";
  std::filesystem::create_symlink("real/config.yaml", link);
  set_config(link, "app", "My game");
  set_config(link, "server", "http://127.0.0.1:1");
  set_config(link, "output", "yaml");
  CHECK(dir.read("real/config.yaml") ==
        "# of the team\n"
        "server: http://127.0.0.1:1   # the shared one\n"
        "\n"
        "output: yaml\n"
        "# the end\n"
        "app: My game\n");
  set_config(link, "output", "");
  CHECK(dir.read("real/config.yaml").find("output") == std::string::npos);
  CHECK(dir.read("real/config.yaml").find("# the end") != std::string::npos);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(mode_of(file) == 0600);
  // What can't be changed line by line is written anew, and still right.
  const auto flow = dir.write("flow.yaml", "{server: 'https://a.example.org', output: json}\n");
  set_config(flow, "output", "yaml");
  CHECK(load_config(flow).server == "https://a.example.org");
  CHECK(load_config(flow).output == "yaml");
  // A link that leads nowhere yet.
  const auto early = dir.path() / "early.yaml";
  std::filesystem::create_symlink(dir.path() / "later" / "config.yaml", early);
  set_config(early, "output", "json");
  CHECK(std::filesystem::is_symlink(early));
  CHECK(load_config(dir.path() / "later" / "config.yaml").output == "json");
}

TEST_CASE("a server must be http on this machine, or https") {
  CHECK(checked_server("https://berth.example.org/", false) == "https://berth.example.org");
  for (const char* server : {"http://127.0.0.1:8080", "http://localhost", "http://[::1]:80"})
    CHECK(checked_server(server, false) == server);
  CHECK(checked_server("http://berth.example.org", true) == "http://berth.example.org");
  for (const char* server :
       {"http://berth.example.org", "http://127.evil.example.org", "berth", "https://", "ftp://x",
        "https://a b", "https://x?y", "http://localhost.evil.org"})
    CHECK(exit_of([&] { checked_server(server, false); }) == Exit::usage);
}

TEST_CASE("credentials are private and are read as they were written") {
  const TempDir dir;
  CredentialStore store(dir.path() / "state");
  CHECK(store.load("http://a").apps.empty());
  store.update("http://a", [](Account& account) {
    account.session = StoredSession{.jwt = "eyJ", .email = "a@x", .username = "a"};
    account.apps["c1"] = {.client_id = "c1",
                          .id = "i1",
                          .name = "My game",
                          .client_secret = "s",
                          .redirect_uri = "http://127.0.0.1/callback",
                          .scopes = {"deploy:manage"},
                          .tokens = Tokens{.access_token = "at",
                                           .refresh_token = "rt",
                                           .scope = "x",
                                           .expires_at = 7,
                                           .grant = Grant::client_credentials}};
    account.current = "c1";
  });
  store.update("http://b", [](Account& account) { account.apps["c2"].client_id = "c2"; });
  CHECK(mode_of(store.file()) == 0600);
  CHECK(mode_of(dir.path() / "state") == 0700);
  Account account = store.load("http://a");
  CHECK(account.session->jwt == "eyJ");
  for (const char* choice : {"", "c1", "i1", "My game"}) {
    REQUIRE(account.find(choice) != nullptr);
    CHECK(account.find(choice)->tokens->expires_at == 7);
    CHECK(account.find(choice)->tokens->grant == Grant::client_credentials);
  }
  CHECK(account.find("c2") == nullptr);
}

TEST_CASE("a change that fails leaves the file as it was, and a damaged file is not overwritten") {
  const TempDir dir;
  CredentialStore store(dir.path());
  store.update("http://a", [](Account& account) {
    account.session = StoredSession{"j", "e", "u"};
  });
  CHECK(exit_of([&] {
          store.update("http://a", [](Account& account) {
            account.session.reset();
            throw Failure(Exit::unavailable, "no answer");
          });
        }) == Exit::unavailable);
  CHECK(store.load("http://a").session);
  dir.write("credentials.json", "{\"version\":1,");
  CHECK(exit_of([&] { store.load("http://a"); }) == Exit::failed);
  CHECK(exit_of([&] { store.update("http://a", [](Account&) {}); }) == Exit::failed);
  CHECK(dir.read("credentials.json") == "{\"version\":1,");
}

TEST_CASE("no change is lost if several are made at the same time") {
  const TempDir dir;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      CredentialStore store(dir.path());
      store.update("http://a", [&](Account& account) {
        account.apps["c" + std::to_string(i)].client_id = "c" + std::to_string(i);
      });
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(CredentialStore(dir.path()).load("http://a").apps.size() == 8);
}
