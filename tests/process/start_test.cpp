// Starting berthd, and its refusals to start.
#include <catch2/catch.hpp>

#include "tests/process/client.h"

using namespace berth::process;
using Catch::Contains;

namespace {

constexpr int refused_configuration = 2;
constexpr int refused_data_dir = 3;
const std::string good_secret = "0f8c41d6b27a93e5c8d1f04b6a7e3952";  // 128 random bits

void check_refused(const Ended& ended, const std::string& key, const std::string& value) {
  INFO(ended.output);
  CHECK(ended.code == refused_configuration);
  CHECK_THAT(ended.output, Contains(key));
  CHECK_THAT(ended.output, Contains(value));
}

}  // namespace

TEST_CASE("a bad value keeps berthd from starting and is named") {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"listen", "nowhere"},
                                                        {"listen", "127.0.0.1:99999"},
                                                        {"http-threads", "0"},
                                                        {"http-threads", "many"},
                                                        {"max-body-bytes", "18446744073709551616"},
                                                        {"request-timeout", "10"},
                                                        {"rate-limits", "perhaps"},
                                                        {"environment", "staging"},
                                                        {"kubernetes", "docker"},
                                                        {"base-url", "ftp://x"},
                                                        {"base-url", "https://"},
                                                        {"base-url", "https://x.example/berth"},
                                                        {"base-url", "https://ada@x.example"},
                                                        {"base-url", "https://x.example;y"},
                                                        {"base-url", "https://x_y.example"},
                                                        {"apps-domain", "apps.example;y"},
                                                        {"apps-domain", "*.example"},
                                                        {"registries", "ghcr.io,a b.example"},
                                                        {"registries", "https://ghcr.io"},
                                                        {"traefik-metrics-url", "http://"},
                                                        {"cluster-ranges", "10.0.0.0/33"},
                                                        {"trusted-proxies", "10.0.0.0/99"},
                                                        {"trusted-proxies", "10.0.0.0/"},
                                                        {"trusted-proxies", "192.0.2.1:80"},
                                                        {"trusted-proxies", "10.0.0.1,foo"},
                                                        {"max-connections-per-network", "0"},
                                                        {"max-connections-per-network", "some"},
                                                        {"log-level", "loud"},
                                                        {"log-format", "xml"},
                                                        {"treasury-genesis", "-1"},
                                                        {"reserved-names", "admin,a b"},
                                                        {"tiers", "[]"},
                                                        {"tiers", "nonsense"},
                                                        {"rewards", "{unheard-of: 1}"}})
    check_refused(run_to_end({"--" + key, value}), key, value);
}

TEST_CASE("a bad variable or line of the file keeps berthd from starting, too") {
  const TempDir dir;
  check_refused(run_to_end({}, {{"BERTHD_HTTP_THREADS", "many"}}), "http-threads", "many");
  check_refused(run_to_end({}, {{"BERTHD_HTTP_THREADS", "many"}}), "BERTHD_HTTP_THREADS", "many");
  const std::string bad = dir.write("bad.yaml", "http-threads: many\n").string();
  check_refused(run_to_end({"--config", bad}), "http-threads", "many");
  const std::string unknown = dir.write("unknown.yaml", "http-treads: 3\n").string();
  check_refused(run_to_end({"--config", unknown}), "http-treads", unknown);
  const std::string broken = dir.write("broken.yaml", "a: [\n").string();
  check_refused(run_to_end({"--config", broken}), "config", broken);
  check_refused(run_to_end({"--config", "/nowhere/berthd.yaml"}), "config", "/nowhere/berthd.yaml");
  check_refused(run_to_end({"--internal-secret-file", "/nowhere"}), "internal-secret", "/nowhere");
  check_refused(run_to_end({"--http-treads", "3"}), "http-treads", "");
  check_refused(run_to_end({"serve"}), "serve", "");
}

TEST_CASE("development stays on loopback unless told otherwise") {
  check_refused(run_to_end({"--listen", "0.0.0.0:0"}), "listen", "allow-remote");
}

TEST_CASE("production refuses settings of development") {
  const Flags production = {"--environment", "production", "--base-url",
                            "https://berth.example.org"};
  const auto with = [&](const std::string& secret, Flags more) {
    Flags flags = production;
    flags.insert(flags.end(), more.begin(), more.end());
    return run_to_end(flags, {{"BERTHD_INTERNAL_SECRET", secret}});
  };
  check_refused(with("", {"--kubernetes", "in-cluster"}), "internal-secret", "");
  check_refused(with(good_secret, {}), "kubernetes", "simulated");
  check_refused(with(good_secret, {"--kubernetes", "in-cluster", "--rate-limits", "off"}),
                "rate-limits", "");
  CHECK(with(good_secret, {}).output.find(good_secret) == std::string::npos);
}

TEST_CASE("production requires a strong secret, which isn't on the command line") {
  const auto with = [](const Flags& more, const Variables& variables) {
    Flags flags = {"--environment", "production", "--base-url",    "https://berth.example.org",
                   "--kubernetes",  "in-cluster", "--apps-domain", "apps.example.net"};
    flags.insert(flags.end(), more.begin(), more.end());
    return run_to_end(flags, variables);
  };
  for (const std::string& weak : {std::string("short"), std::string(16, 'a'), std::string(64, 'a'),
                                  std::string("correct horse battery staple forever")}) {
    INFO(weak);
    check_refused(with({}, {{"BERTHD_INTERNAL_SECRET", weak}}), "internal-secret",
                  "openssl rand -hex 32");
  }
  const Ended in_flag = with({"--internal-secret", good_secret}, {});
  check_refused(in_flag, "internal-secret", "--internal-secret-file");
  CHECK_THAT(in_flag.output, !Contains(good_secret));
  const Flags mail = {"--mail-from", "berth@example.org", "--smtp-url",
                      "smtp://berth:hidden-password@mail.example.org"};
  const Ended mail_in_flag = with(mail, {{"BERTHD_INTERNAL_SECRET", good_secret}});
  check_refused(mail_in_flag, "smtp-url", "--smtp-url-file");
  CHECK_THAT(mail_in_flag.output, !Contains("hidden-password"));
  // A file and a variable are both accepted. These starts fail only because there is no cluster.
  const TempDir dir;
  const std::string file = dir.write("secret", good_secret + "\n").string();
  const Flags plain_mail = {"--mail-from", "berth@example.org", "--smtp-url",
                            "smtp://mail.example.org"};
  for (const Ended& ended : {with({"--internal-secret-file", file}, {}),
                             with(plain_mail, {{"BERTHD_INTERNAL_SECRET", good_secret}})}) {
    INFO(ended.output);
    CHECK(ended.code != refused_configuration);
  }
}

TEST_CASE("production accepts plain http on loopback only") {
  const auto with = [](const std::string& base_url) {
    return run_to_end({"--environment", "production", "--kubernetes", "in-cluster", "--base-url",
                       base_url, "--apps-domain", "apps.example.net"},
                      {{"BERTHD_INTERNAL_SECRET", good_secret}});
  };
  for (const char* plain :
       {"http://berth.example.org", "http://192.0.2.1:8080", "http://[2001:db8::1]",
        "http://127.example.org", "http://localhost.example.org"}) {
    check_refused(with(plain), "base-url", plain);
    check_refused(with(plain), "base-url", "https");
  }
  // These starts fail only because there is no cluster.
  for (const char* fine : {"http://localhost:8080", "http://127.0.0.1:8080", "http://[::1]:8080",
                           "https://berth.example.org"}) {
    const Ended ended = with(fine);
    INFO(ended.output);
    CHECK(ended.code != refused_configuration);
    CHECK_THAT(ended.output, !Contains("base-url"));
  }
}

TEST_CASE("production keeps tenants off the domain of its own pages") {
  const auto with = [](const std::string& base_url, const std::string& apps_domain) {
    return run_to_end({"--environment", "production", "--kubernetes", "in-cluster", "--base-url",
                       base_url, "--apps-domain", apps_domain},
                      {{"BERTHD_INTERNAL_SECRET", good_secret}});
  };
  check_refused(with("https://berth.example.org", "apps.example.org"), "apps-domain",
                "example.org");
  check_refused(with("https://example.co.uk", "example.co.uk"), "base-url", "example.co.uk");
  // Two domains below a public suffix have two owners. This start fails only because there is no
  // cluster.
  const Ended other = with("https://berth.example.co.uk", "apps-example.co.uk");
  INFO(other.output);
  CHECK(other.code != refused_configuration);
  CHECK_THAT(other.output, !Contains("apps-domain"));
}

TEST_CASE("variables override the file, and flags override variables") {
  const TempDir dir;
  const std::string file =
      dir.write("berthd.yaml",
                "http-threads: 11\nmax-connections: 22\nregistries: [a.example, b]\n")
          .string();
  const Ended shown =
      run_to_end({"config", "--config", file, "--internal-secret", "swordfish123456"},
                 {{"BERTHD_MAX_CONNECTIONS", "33"}});
  CHECK(shown.code == 0);
  CHECK_THAT(shown.output, Contains("http-threads = 11"));
  CHECK_THAT(shown.output, Contains("max-connections = 33"));
  CHECK_THAT(shown.output, Contains("registries = a.example,b"));
  CHECK_THAT(shown.output, !Contains("swordfish"));
  const Ended flag =
      run_to_end({"config", "--max-connections", "44"}, {{"BERTHD_MAX_CONNECTIONS", "33"}});
  CHECK_THAT(flag.output, Contains("max-connections = 44"));
}

TEST_CASE("trusted proxies are addresses and ranges, as a list or separated by commas") {
  const TempDir dir;
  for (const char* text :
       {"trusted-proxies: 127.0.0.1, 10.0.0.0/8,fd00::/8\n", "trusted-proxies: []\n",
        "trusted-proxies: [127.0.0.1, 2001:db8::7]\n", "trusted-proxies: \"\"\n"}) {
    const std::string file = dir.write("berthd.yaml", text).string();
    const Ended shown = run_to_end({"config", "--config", file});
    INFO(text << shown.output);
    CHECK(shown.code == 0);
  }
}

TEST_CASE("the default list of reserved names is printed, and a configured one replaces it") {
  CHECK_THAT(run_to_end({"config"}).output, Contains("reserved-names = abuse,"));
  const Ended set = run_to_end({"config", "--reserved-names", "acme,root"});
  CHECK_THAT(set.output, Contains("reserved-names = acme,root"));
  CHECK_THAT(run_to_end({"config", "--reserved-names", ""}).output, !Contains("abuse"));
}

TEST_CASE("a data directory serves one berthd at a time") {
  const Berthd berthd;
  const Ended second = run_to_end({"--data-dir", berthd.data_dir().string()});
  INFO(second.output);
  CHECK(second.code == refused_data_dir);
  CHECK_THAT(second.output, Contains(berthd.data_dir().string()));
  CHECK(Client(berthd).get("/health").status == 200);  // the first one isn't affected
}

TEST_CASE("a damaged data directory is refused") {
  const TempDir copy;
  {
    Berthd berthd;
    register_user(berthd, "ada");
    CHECK(berthd.terminate() == 0);
    std::filesystem::copy(berthd.data_dir(), copy.path() / "data");
  }
  SECTION("a database that is none") { copy.write("data/berth.db", std::string(8192, 'x')); }
  SECTION("without its keys") { std::filesystem::remove(copy.path() / "data" / "keys.json"); }
  const Ended ended = run_to_end({"--data-dir", (copy.path() / "data").string()});
  INFO(ended.output);
  CHECK(ended.code == refused_data_dir);
}

TEST_CASE("only the owner can read berthd's files") {
  const Berthd berthd;
  using std::filesystem::perms;
  for (const char* name : {"", "keys.json", "internal-secret"}) {
    INFO(name);
    const auto rights = std::filesystem::status(berthd.data_dir() / name).permissions();
    CHECK((rights & (perms::group_all | perms::others_all)) == perms::none);
  }
}
