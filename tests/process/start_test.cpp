// Starting berthd, and its refusals to start.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <optional>

#include "controller/db/migrations.h"
#include "tests/process/client.h"
#include "tests/programs.h"

using namespace berth::process;
using Catch::Contains;

namespace {

constexpr int refused_configuration = 2;
constexpr int refused_data_dir = 3;
constexpr int refused_address = 4;
constexpr int refused_cluster_access = 5;
constexpr int refused_full_disk = 6;
const std::string good_secret = "0f8c41d6b27a93e5c8d1f04b6a7e3952";  // 128 random bits

void check_refused(const Ended& ended, const std::string& key, const std::string& value) {
  INFO(ended.output);
  CHECK(ended.code == refused_configuration);
  CHECK_THAT(ended.output, Contains(key));
  CHECK_THAT(ended.output, Contains(value));
}

}  // namespace

TEST_CASE("a database's address is checked, and never told") {
  const std::string password = "Geheim-7391";
  for (const std::string& address : {"mysql://ada:" + password + "@host/berth",
                                     "postgresql://ada:" + password + "%zz@host/berth",
                                     "postgresql://ada:x@" + password + "@host/berth",
                                     "postgresql://ada:" + password + "/x@host/berth",
                                     "postgresql://ada:1/" + password + "@host/berth",
                                     "postgresql://host:0/berth?password=" + password,
                                     "postgresql://host/berth?secret=" + password}) {
    const Ended ended = run_to_end({"config", "check", "--database", address});
    check_refused(ended, "database: '********'", "postgresql://");
    CHECK_THAT(ended.output, !Contains(password));
  }
  check_refused(run_to_end({"config", "check", "--database", "postgresql://host/berth",
                            "--database-password-file", "/nowhere"}),
                "database-password-file", "/nowhere");
  check_refused(run_to_end({"config", "check", "--database", "postgresql://a:b@host/berth",
                            "--database-password-file", "/etc/hostname"}),
                "database-password-file", "has a password, too");
}

TEST_CASE("in production, a database on another machine needs TLS with verify-full") {
  const auto check = [](const std::string& address) {
    return run_to_end(
        {"config", "check", "--environment", "production", "--kubernetes", "kubeconfig",
         "--base-url", "https://berth.example.org", "--apps-domain", "apps.example.net"},
        {{"BERTHD_INTERNAL_SECRET", good_secret}, {"BERTHD_DATABASE", address}});
  };
  for (const char* address :
       {"postgresql://berth@db.example.org/berth?sslmode=verify-full",
        "postgresql://berth@a:5432,b/berth?sslmode=verify-full",
        "postgresql://berth@/berth?host=/run/postgresql", "postgresql://berth@127.0.0.1/berth",
        "postgresql://berth@[::1]:5432/berth"}) {
    const Ended ended = check(address);
    INFO(address << ended.output);
    CHECK(ended.code == 0);
  }
  for (const char* address :
       {"postgresql://berth@db.example.org/berth",
        "postgresql://berth@db.example.org/berth?sslmode=require",
        "postgresql://berth@127.0.0.1,db.example.org/berth",
        "postgresql://localhost/berth?hostaddr=192.0.2.1", "postgresql:///berth"})
    check_refused(check(address), "database: production requires", "");
  check_refused(run_to_end({"config", "check", "--environment", "production", "--database",
                            "postgresql://a:b@localhost/berth"}),
                "database: production doesn't accept this on the command line", "");
}

TEST_CASE("a bad value keeps berthd from starting and is named") {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"listen", "nowhere"},
                                                        {"listen", "127.0.0.1:99999"},
                                                        {"http-threads", "0"},
                                                        {"http-threads", "many"},
                                                        {"max-body-bytes", "18446744073709551616"},
                                                        {"request-timeout", "10"},
                                                        {"rate-limits", "perhaps"},
                                                        {"first-account-admin", "perhaps"},
                                                        {"environment", "staging"},
                                                        {"kubernetes", "docker"},
                                                        {"simulated-speed", "0"},
                                                        {"simulated-speed", "101"},
                                                        {"simulated-builds", "perhaps"},
                                                        {"max-source-size", "1k"},
                                                        {"build-timeout", "1s"},
                                                        {"build-memory", "1Mi"},
                                                        {"build-storage", "1M"},
                                                        {"builds-at-once", "0"},
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
                                                        {"max-image-size", "ten gigabytes"},
                                                        {"max-image-size", "100m"},
                                                        {"max-image-size", "-1"},
                                                        {"image-size-unknown", "perhaps"},
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
                                                        {"rewards", "{unheard-of: 1}"},
                                                        {"listen", "a b:8080"},
                                                        {"metrics-listen", "*:9090"},
                                                        {"apps-domain", "bad domain"},
                                                        {"lease-namespace", "Bad"},
                                                        {"ingress-class", "A b"},
                                                        {"ingress-class", ""},
                                                        {"cluster-issuer", "Bad Name"},
                                                        {"internal-listen", "8081"},
                                                        {"ingress-namespace", "A b"},
                                                        {"ingress-ranges", "10.0.0.0/40"},
                                                        {"ingress-ports", "http"},
                                                        {"ingress-ports", "80,0"},
                                                        {"tenant-node-selector", "tenants"},
                                                        {"tenant-node-selector", "a b=yes"},
                                                        {"tenant-node-selector", "[a]"},
                                                        {"tenant-node-selector", "{a: 1}"},
                                                        {"tenant-tolerations", "a=b:Never"},
                                                        {"tenant-tolerations", "=b:NoSchedule"},
                                                        {"tenant-tolerations", "[{key: 1}]"},
                                                        {"tenant-tolerations", "[{key: a, b: c}]"},
                                                        {"tenant-priority-class", "A b"},
                                                        {"isolation", "always"},
                                                        {"isolation-image", "a b/c"},
                                                        {"isolation-image", "berth"},
                                                        {"isolation-image", "https://r/b"},
                                                        {"isolation-internet", "example.org"},
                                                        {"ingress-http", "80"},
                                                        {"ingress-http", ":0"},
                                                        {"ingress-https", "https://x:443"},
                                                        {"acme-directory", "http://acme.example"},
                                                        {"acme-ca-file", "/nowhere"},
                                                        {"tenant-role", "a/b"},
                                                        {"service-account", "berth"},
                                                        {"exec-service-account", "berth-exec"},
                                                        {"exec-service-account", "a b/c"},
                                                        {"wildcard-tls-secret", "a/b/c"},
                                                        {"wildcard-tls-secret", "a b"},
                                                        {"wildcard-tls-secret", "/b"},
                                                        {"client-files", "/nowhere"},
                                                        {"client-files", "/etc/hostname"},
                                                        {"smtp-ca-file", "/nowhere/ca.pem"},
                                                        {"smtp-ca-file", "/"}})
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

TEST_CASE("the first account is made the admin only where nobody else can come first") {
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"config", "check", "--first-account-admin", "on"});
    return run_to_end(more);
  };
  CHECK(with({}).code == 0);
  CHECK(with({"--base-url", "http://localhost:8000"}).code == 0);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--environment", "production"},
        {"--allow-remote", "on", "--listen", "0.0.0.0:8080"},
        {"--base-url", "https://berth.example.org"},
        {"--allow-remote", "on", "--kubernetes", "local", "--ingress-http", ":8000"}})
    check_refused(with(more), "first-account-admin: on is allowed", "");
}

TEST_CASE("tiers keep the limits that the API has for them") {
  const auto with = [](const std::string& more) {
    return "[{slug: s, name: S, memory-mb: 512, cpu-millicores: 500, monthly-cost-points: 1" +
           more + "}]";
  };
  CHECK(run_to_end({"config", "--tiers", with("")}).code == 0);
  CHECK(run_to_end({"config", "--tiers", with(", max-replicas: 100, exec: true")}).code == 0);
  for (const auto& [more, named] : std::vector<std::pair<std::string, std::string>>{
           {", custom-domains: true", "custom-domains"},
           {", monthly-stipend-points: -1", "monthly-stipend-points"},
           {", max-deployments: -1", "max-deployments"},
           {", ad-reach-multiplier: many", "ad-reach-multiplier"},
           {", monthly-cost-sats: 1", "monthly-cost-sats"},
           {", runtime-class: A b", "runtime-class"},
           {", user-namespaces: some", "user-namespaces"},
           {", bandwidth: 0", "bandwidth"},
           {", build-points-per-minute: -1", "build-points-per-minute"},
           {", max-replicas: 0", "max-replicas"},
           {", max-replicas: 101", "max-replicas"},
           {", exec: perhaps", "exec"},
           {"}, {slug: s, name: T, memory-mb: 1, cpu-millicores: 1, monthly-cost-points: 1",
            "twice"},
           {"}, {slug: A b, name: T, memory-mb: 1, cpu-millicores: 1, monthly-cost-points: 1",
            "lower-case"}})
    check_refused(run_to_end({"config", "--tiers", with(more)}), "tiers", named);
}

TEST_CASE("berthd config check names everything that is wrong, with its line and the nearest key") {
  const TempDir dir;
  const std::string file = dir.write("berthd.yaml",
                                     "apps-domain: apps.example.org\n"
                                     "http-treads: 3\n"
                                     "ingress-class: A b\n"
                                     "registries: [ghcr.io]\n"
                                     "\n"
                                     "log-level: loud\n")
                               .string();
  const Ended bad = run_to_end({"config", "check", "--config", file, "--htpt-threads=4"},
                               {{"BERTHD_LISTNE", "x"}, {"BERTHD_RATE_LIMITS", "perhaps"}});
  INFO(bad.output);
  CHECK(bad.code == refused_configuration);
  CHECK_THAT(bad.output, Contains(file + ", line 2: there is no key http-treads; did you mean "
                                         "http-threads?"));
  CHECK_THAT(bad.output, Contains("ingress-class: 'A b' (from " + file + ", line 3)"));
  CHECK_THAT(bad.output, Contains("log-level: 'loud' (from " + file + ", line 6)"));
  CHECK_THAT(bad.output, Contains("did you mean BERTHD_LISTEN?"));
  CHECK_THAT(bad.output, Contains("rate-limits: 'perhaps' (from BERTHD_RATE_LIMITS)"));
  CHECK_THAT(bad.output, Contains("--htpt-threads: there is no key htpt-threads; did you mean "
                                  "http-threads?"));
  CHECK(std::ranges::count(bad.output, '\n') == 6);

  dir.write("berthd.yaml", "apps-domain: apps.example.org\n");
  const Ended good = run_to_end({"config", "check", "--config", file});
  INFO(good.output);
  CHECK(good.code == 0);
  CHECK_THAT(good.output, Contains("sound"));
}

TEST_CASE("a problem of one key isn't reported as one of another") {
  const Ended ended =
      run_to_end({"config", "check", "--environment", "productoin", "--listen", "0.0.0.0:8080"});
  INFO(ended.output);
  CHECK(ended.code == refused_configuration);
  CHECK_THAT(ended.output, Contains("environment: 'productoin'"));
  CHECK_THAT(ended.output, !Contains("loopback"));
}

TEST_CASE("production names all that it lacks at once") {
  const Ended ended = run_to_end({"--environment", "production", "--rate-limits", "off"});
  INFO(ended.output);
  for (const char* key : {"internal-secret: ", "kubernetes: ", "rate-limits: ", "base-url: "})
    CHECK_THAT(ended.output, Contains(key));
}

TEST_CASE("a misspelt variable is refused, and what Kubernetes sets for a Service isn't") {
  check_refused(run_to_end({}, {{"BERTHD_LISTNE", "127.0.0.1:0"}}), "BERTHD_LISTNE",
                "BERTHD_LISTEN");
  check_refused(run_to_end({}, {{"BERTHD_PORT", "8080"}}), "BERTHD_PORT", "berthd config");
  check_refused(run_to_end({}, {{"BERTHD_http_threads", "8"}}), "BERTHD_http_threads", "");
  const Ended linked =
      run_to_end({"config"}, {{"BERTHD_SERVICE_HOST", "10.0.0.11"},
                              {"BERTHD_SERVICE_PORT_API", "8080"},
                              {"BERTHD_PORT", "tcp://10.0.0.11:8080"},
                              {"BERTHD_PORT_8080_TCP_ADDR", "10.0.0.11"},
                              {"BERTHD_METRICS_PORT_9090_TCP", "tcp://10.0.0.12:9090"}});
  INFO(linked.output);
  CHECK(linked.code == 0);
}

TEST_CASE("the file's values are taken as they are written") {
  const TempDir dir;
  const std::string file =
      dir.write("berthd.yaml",
                "context: 1.10\nlease-namespace: 0123\nregistries: [a.example/1.0]\n")
          .string();
  const Ended shown = run_to_end({"config", "--config", file});
  CHECK_THAT(shown.output, Contains("context = 1.10\n"));
  CHECK_THAT(shown.output, Contains("lease-namespace = 0123\n"));
  CHECK_THAT(shown.output, Contains("(from " + file + ", line 2)"));
}

TEST_CASE("development stays on loopback unless told otherwise") {
  check_refused(run_to_end({"--listen", "0.0.0.0:0"}), "listen", "allow-remote");
}

TEST_CASE("one machine needs the database in the data directory") {
  check_refused(run_to_end({"--kubernetes", "local", "--database", "postgresql://127.0.0.1/berth"}),
                "kubernetes", "database has to be empty");
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
  check_refused(
      with({}, {{"BERTHD_INTERNAL_SECRET", good_secret}, {"BERTHD_INTERNAL_SECRETS", "old=short"}}),
      "internal-secrets", "openssl rand -hex 32");
  for (const char* wrong : {"no name", "=x", "old=", "internal=x", "Old=x"}) {
    INFO(wrong);
    check_refused(
        with({}, {{"BERTHD_INTERNAL_SECRET", good_secret}, {"BERTHD_INTERNAL_SECRETS", wrong}}),
        "internal-secrets", "name=secret");
  }
  const Ended named_in_flag =
      with({"--internal-secrets", "old=" + good_secret}, {{"BERTHD_INTERNAL_SECRET", good_secret}});
  check_refused(named_in_flag, "internal-secrets", "--internal-secrets-file");
  CHECK_THAT(named_in_flag.output, !Contains(good_secret));
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
  const std::string named =
      dir.write("secrets", "old=" + good_secret + "\nnew=" + good_secret + "\n").string();
  for (const Ended& ended :
       {with({"--internal-secret-file", file}, {}),
        with({"--internal-secret-file", file, "--internal-secrets-file", named}, {}),
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

TEST_CASE("nodes for containers are written as for kubectl, or as in a pod") {
  const TempDir dir;
  for (const char* text : {"tenant-node-selector: example.org/tenants=yes,disk=fast\n",
                           "tenant-node-selector: {example.org/tenants: \"yes\"}\n",
                           "tenant-tolerations: example.org/tenants=yes:NoSchedule,spot\n",
                           "tenant-tolerations: [example.org/tenants=yes:NoSchedule]\n",
                           ("tenant-tolerations: [{key: a, operator: Exists, effect: NoExecute, "
                            "tolerationSeconds: 60}]\n")}) {
    const std::string file = dir.write("berthd.yaml", text).string();
    const Ended shown = run_to_end({"config", "--config", file});
    INFO(text << shown.output);
    CHECK(shown.code == 0);
  }
}

TEST_CASE("the internal API's listener keeps to this machine in development") {
  check_refused(run_to_end({"config", "--internal-listen", "192.0.2.1:8081"}), "internal-listen",
                "192.0.2.1");
  const std::string taken = "127.0.0.1:8080";
  check_refused(run_to_end({"config", "--listen", taken, "--internal-listen", taken}),
                "internal-listen", taken);
  CHECK(run_to_end({"config", "--internal-listen", "127.0.0.1:8081"}).code == 0);
}

TEST_CASE("isolation can only be required with an image to prove it with") {
  check_refused(run_to_end({"config", "--kubernetes", "kubeconfig", "--isolation", "required"}),
                "isolation-image", "required");
  CHECK(run_to_end({"config", "--kubernetes", "kubeconfig", "--isolation", "required",
                    "--isolation-image", "registry.example.org/berth:1"})
            .code == 0);
  CHECK(run_to_end({"config", "--isolation", "required"}).code == 0);
  CHECK(run_to_end({"config", "--kubernetes", "local", "--isolation", "required"}).code == 0);
}

TEST_CASE("a role for apps' namespaces needs an account to bind it to") {
  check_refused(run_to_end({"config", "--tenant-role", "berth:tenant"}), "service-account",
                "tenant-role");
  CHECK(run_to_end({"config", "--tenant-role", "berth:tenant", "--service-account", "berth/berth"})
            .code == 0);
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

TEST_CASE("a data directory without keys takes those of keys-file") {
  const auto text_of = [](const std::filesystem::path& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const Berthd first;
  const std::filesystem::path keys = first.data_dir() / "keys.json";
  const Berthd second({"--keys-file", keys.string()});
  CHECK(text_of(second.data_dir() / "keys.json") == text_of(keys));
  const TempDir dir;
  const Ended damaged = run_to_end({"--keys-file", dir.write("keys", "{}").string()});
  INFO(damaged.output);
  CHECK(damaged.code == refused_data_dir);
  CHECK_THAT(damaged.output, Contains("is damaged"));
  check_refused(run_to_end({"config", "check", "--keys-file", "/nowhere"}), "keys-file",
                "a file that berthd can read");
}

TEST_CASE("a database that this berthd can't use is refused, whatever opens it") {
  Berthd berthd({"--database", ""});
  CHECK(berthd.terminate() == 0);
  const std::string data = berthd.data_dir().string();
  SQLite::Database database(data + "/berth.db", SQLite::OPEN_READWRITE);
  SECTION("a newer one wrote it") {
    database.exec("INSERT INTO schema_migrations VALUES ('9999_later.sql', '', 0)");
    const Ended ended = run_to_end({"--data-dir", data});
    INFO(ended.output);
    CHECK(ended.code == refused_data_dir);
    CHECK_THAT(ended.output, Contains("newer berthd") && Contains("9999_later.sql"));
  }
  SECTION("it is from before version 1.0.0 of the schema") {
    database.exec(
        "UPDATE schema_migrations SET name = '0001_accounts.sql' WHERE name = '0001_schema.sql'");
    const int before = database.execAndGet("SELECT count(*) FROM schema_migrations").getInt();
    const std::vector<std::pair<Flags, int>> commands = {
        {{}, refused_data_dir},
        {{"verify"}, 1},
        {{"migrate", "--to", "postgresql://nowhere.example/berth"}, refused_data_dir}};
    for (auto [command, code] : commands) {
      command.insert(command.end(), {"--data-dir", data});
      const Ended ended = run_to_end(command);
      INFO(ended.output);
      CHECK(ended.code == code);
      CHECK_THAT(ended.output,
                 Contains(std::string("the last commit of berth that can read it is ") +
                          berth::db::last_commit_before_schema));
    }
    CHECK(database.execAndGet("SELECT count(*) FROM schema_migrations").getInt() == before);
  }
  SECTION("a migration fails, because its tables are there already") {
    database.exec("DELETE FROM schema_migrations");
    const Ended ended = run_to_end({"--data-dir", data});
    INFO(ended.output);
    CHECK(ended.code == refused_data_dir);
    CHECK_THAT(ended.output, Contains("migration 0001_schema.sql: table meta already exists"));
  }
}

TEST_CASE("an address that can't be listened on ends the start") {
  const Berthd berthd;
  const std::string taken = "127.0.0.1:" + std::to_string(berthd.port());
  const Ended in_use = run_to_end({"--listen", taken});
  INFO(in_use.output);
  CHECK(in_use.code == refused_address);
  CHECK_THAT(in_use.output, Contains("listen: ") && Contains(taken));
  // An address for documentation (RFC 5737), which no machine has.
  const Ended elsewhere = run_to_end({"--metrics-listen", "192.0.2.1:9090"});
  INFO(elsewhere.output);
  CHECK(elsewhere.code == refused_address);
  CHECK_THAT(elsewhere.output, Contains("metrics-listen: "));
}

TEST_CASE("a way to the cluster that is missing ends the start") {
  const TempDir dir;
  const std::string broken = dir.write("kubeconfig", "kind: Pod\n").string();
  for (const Flags& flags :
       {Flags{"--kubernetes", "kubeconfig", "--kubeconfig", "/nowhere/kubeconfig"},
        Flags{"--kubernetes", "kubeconfig", "--kubeconfig", broken},
        Flags{"--kubernetes", "in-cluster"}}) {
    const Ended ended = run_to_end(flags, {{"KUBERNETES_SERVICE_HOST", ""}});
    INFO(ended.output);
    CHECK(ended.code == refused_cluster_access);
    CHECK_THAT(ended.output, Contains("kubernetes: "));
  }
}

namespace {

// Runs a shell script in a mount namespace of its own, with the directory in which it may mount a
// file system of its own as $1 and berthd as $2. Nothing if the machine doesn't allow that.
std::optional<Ended> with_own_mounts(const std::string& script) {
  const TempDir dir;
  const std::filesystem::path unshare = "/usr/bin/unshare";
  Process allowed(unshare, {"--map-root-user", "--mount", "true"}, dir.path() / "none");
  if (allowed.wait(patience) != 0) return std::nullopt;
  const auto mounted = dir.path() / "mounted";
  std::filesystem::create_directory(mounted);
  Process process(unshare,
                  {"--map-root-user", "--mount", "sh", "-ec", script, "sh", mounted.string(),
                   berth::test::berthd_program},
                  dir.path() / "log");
  const auto code = process.wait(patience);
  if (!code) throw std::runtime_error("the script did not end: " + dir.read("log"));
  return Ended{*code, dir.read("log")};
}

void check_says_full(const std::optional<Ended>& ended) {
  if (!ended) {
    WARN("skipped: this machine allows no mounts");
    return;
  }
  INFO(ended->output);
  CHECK(ended->code == refused_full_disk);
  CHECK_THAT(ended->output, Contains("is full; make room"));
}

const std::string serve_there =
    R"("$2" --data-dir "$1/data" --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0)";

}  // namespace

TEST_CASE("a disk that is full at the first start is said in a sentence") {
  // Each leaves room for more of what a first start writes.
  for (const char* size : {"4k", "16k", "64k", "256k", "512k"}) {
    INFO(size);
    check_says_full(with_own_mounts("mount -t tmpfs -o size=" + std::string(size) +
                                    " tmpfs \"$1\"\nexec " + serve_there));
  }
}

TEST_CASE("a disk that has become full is said in a sentence at the next start") {
  check_says_full(
      with_own_mounts("mount -t tmpfs -o size=32m tmpfs \"$1\"\n" + serve_there + " &\n" + R"(
until [ -s "$1/data/berthd.metrics.addr" ]; do sleep 0.05; done
kill -TERM $!
wait $!
cat /dev/zero >"$1/filling" 2>/dev/null || true
exec )" + serve_there));
}

TEST_CASE("a service manager is told when berthd serves") {
  const TempDir dir;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (dir.path() / "notify").string();
  std::ranges::copy(path, std::begin(address.sun_path));
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  REQUIRE(socket >= 0);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  Process berthd(berth::test::berthd_program,
                 {"--data-dir", (dir.path() / "data").string(), "--listen", "127.0.0.1:0",
                  "--metrics-listen", "127.0.0.1:0"},
                 dir.path() / "log", {{"NOTIFY_SOCKET", path}});
  const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char message[64] = {};
  const ssize_t got = ::recv(socket, message, sizeof message, 0);
  ::close(socket);
  INFO(dir.read("log"));
  REQUIRE(got > 0);
  CHECK(std::string(message, size_t(got)) == "READY=1");
  CHECK(std::filesystem::exists(dir.path() / "data" / "berthd.addr"));
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
