#include "reconcilers/kube/kubeconfig.h"

#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "tests/kube_client/certificates.h"
#include "tests/kube_client/variable.h"
#include "tests/temp_dir.h"

using namespace berth;
using namespace berth::kube;
using berth::test::TempDir;

namespace {

const std::string pem_certificate =
    "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n";
const std::string pem_key = "-----BEGIN PRIVATE KEY-----\nQQ==\n-----END PRIVATE KEY-----\n";

std::string config_text(const std::string& user, const std::string& cluster = "") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "contexts:\n- {name: here, context: {cluster: c, user: u}}\n"
         "- {name: there, context: {cluster: d}}\n"
         "clusters:\n- name: c\n  cluster:\n    server: https://one:6443/\n" +
         cluster + "- {name: d, cluster: {server: 'https://two/k8s/clusters/x'}}\n" +
         "users:\n- name: u\n  user:\n" + user;
}

Kubeconfig load(const TempDir& dir, const std::string& text, const std::string& context = "") {
  return load_kubeconfig(dir.write("config", text), context);
}

std::string load_error(const TempDir& dir, const std::string& text) {
  try {
    load(dir, text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "loaded";
}

}  // namespace

TEST_CASE("the current or the requested context is used") {
  const TempDir dir;
  const std::string text = config_text("    token: abc\n");
  const Kubeconfig here = load(dir, text);
  CHECK(here.server == "https://one:6443");
  CHECK(here.token == "abc");
  const Kubeconfig there = load(dir, text, "there");
  CHECK(there.server == "https://two/k8s/clusters/x");
  CHECK_FALSE(there.token);
  CHECK_THROWS_WITH(load(dir, text, "nowhere"), Catch::Contains("no entry named \"nowhere\""));
}

TEST_CASE("each kind of credential is read, and paths are relative to the file") {
  const TempDir dir;
  dir.write("pki/ca.crt", pem_certificate);
  dir.write("pki/me.crt", pem_certificate);
  dir.write("pki/me.key", pem_key);
  dir.write("token", "t");
  SECTION("files") {
    const auto config =
        load(dir, config_text("    tokenFile: token\n    client-certificate: pki/me.crt\n"
                              "    client-key: pki/me.key\n",
                              "    certificate-authority: pki/ca.crt\n    tls-server-name: api\n"));
    CHECK(config.ca_file == dir / "pki/ca.crt");
    CHECK(config.client_certificate_file == dir / "pki/me.crt");
    CHECK(config.client_key_file == dir / "pki/me.key");
    CHECK(config.token_file == dir / "token");
    CHECK(config.tls_server_name == "api");
    CHECK_FALSE(config.ca_data);
  }
  SECTION("data") {
    const auto config =
        load(dir, config_text("    client-certificate-data: " + base64(pem_certificate) +
                                  "\n    client-key-data: |\n      " + base64(pem_key) +
                                  "\n    client-certificate: pki/other\n",
                              "    certificate-authority-data: " + base64(pem_certificate) + "\n"));
    CHECK(config.ca_data == pem_certificate);
    CHECK(config.client_certificate_data == pem_certificate);
    CHECK(config.client_key_data == pem_key);
    CHECK_FALSE(config.client_certificate_file);
  }
  SECTION("basic authentication, and no look at the certificate") {
    const auto config = load(dir, config_text("    {username: me, password: '0123'}\n",
                                              "    insecure-skip-tls-verify: true\n"));
    CHECK(config.username == "me");
    CHECK(config.password == "0123");
    CHECK(config.insecure_skip_tls_verify);
  }
  SECTION("an exec plugin") {
    const auto config =
        load(dir, config_text("    exec:\n      apiVersion: client.authentication.k8s.io/v1\n"
                              "      command: bin/get-token\n      args: [a, 'b c']\n"
                              "      env: [{name: A, value: x}]\n      installHint: buy it\n"
                              "      provideClusterInfo: true\n      interactiveMode: Never\n"));
    REQUIRE(config.exec);
    CHECK(config.exec->api_version == "client.authentication.k8s.io/v1");
    CHECK(config.exec->command == (dir / "bin/get-token").string());
    CHECK(config.exec->args == std::vector<std::string>{"a", "b c"});
    CHECK(config.exec->env == std::vector<std::pair<std::string, std::string>>{{"A", "x"}});
    CHECK(config.exec->install_hint == "buy it");
    CHECK(config.exec->cluster_info == R"({"server":"https://one:6443"})");
  }
  SECTION("a plugin without a slash is looked for in PATH") {
    const auto config =
        load(dir, config_text("    exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
                              "command: aws}\n"));
    CHECK(config.exec->command == "aws");
    CHECK(config.exec->cluster_info.empty());
  }
}

TEST_CASE("an invalid kubeconfig is reported with file and field, without its secrets") {
  const TempDir dir;
  const std::string secret = "hunter2";
  const auto [text, expected] = GENERATE_COPY(table<std::string, std::string>({
      {"{", "config"},
      {"- a\n", "isn't a kubeconfig"},
      {"kind: Pod\n", "kind isn't Config"},
      {"kind: Config\n", "current-context is missing"},
      {"current-context: a\ncontexts: 3\n", "contexts isn't a list"},
      {"current-context: a\ncontexts: []\n", "contexts has no entry named \"a\""},
      {"current-context: a\ncontexts: [{name: a, context: {user: u}}]\n",
       "contexts[a].context.cluster is missing"},
      {"current-context: a\ncontexts: [{name: a, context: 7}]\n", "contexts[a].context"},
      {config_text("    token: [hunter2]\n"), "users[u].user.token isn't a string"},
      {config_text("    token: 12345\n"), "users[u].user.token isn't a string; write it in quotes"},
      {config_text("    tokenFile: gone\n"), "users[u].user.tokenFile names a file"},
      {config_text("    client-certificate-data: hunter2!\n"),
       "users[u].user.client-certificate-data isn't base64"},
      {config_text("    client-key-data: " + base64(secret) + "\n"),
       "users[u].user.client-key-data contains no PEM PRIVATE KEY"},
      {config_text("    client-certificate-data: " + base64(pem_certificate) + "\n"),
       "users[u].user.client-key is missing"},
      {config_text("    client-key-data: " + base64(pem_key) + "\n"),
       "users[u].user.client-certificate is missing"},
      {config_text("    password: hunter2\n"), "users[u].user.username is missing"},
      {config_text("    {username: 'a:b', password: hunter2}\n"),
       "users[u].user.username contains a"},
      {config_text("    auth-provider: {name: gcp}\n"), "users[u].user.auth-provider"},
      {config_text("    as-groups: [admins]\n"), "users[u].user.as is missing"},
      {config_text("    {as: admin, as-groups: admins}\n"),
       "users[u].user.as-groups isn't a list of strings"},
      {config_text("    {as: admin, as-groups: [\"a\\nX-Other: hunter2\"]}\n"),
       "users[u].user.as-groups is empty or has characters"},
      {config_text("    {as: admin, as-user-extra: [a]}\n"),
       "users[u].user.as-user-extra isn't a mapping"},
      {config_text("    exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}\n"),
       "users[u].user.exec.apiVersion"},
      {config_text("    exec: {apiVersion: client.authentication.k8s.io/v1}\n"),
       "users[u].user.exec.command is missing"},
      {config_text("    exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
                   "env: [{name: A}]}\n"),
       "users[u].user.exec.env has an entry"},
      {config_text("    exec: {apiVersion: client.authentication.k8s.io/v1, command: x, "
                   "interactiveMode: Always}\n"),
       "users[u].user.exec.interactiveMode"},
      {config_text("    {}\n", "    proxy-url: ftp://hunter2@proxy\n"),
       "clusters[c].cluster.proxy-url isn't the URL"},
      {config_text("    {}\n", "    proxy-url: hunter2:3128\n"),
       "clusters[c].cluster.proxy-url isn't the URL"},
      {config_text("    {}\n", "    insecure-skip-tls-verify: maybe\n"),
       "clusters[c].cluster.insecure-skip-tls-verify is neither"},
      {config_text("    {}\n",
                   "    insecure-skip-tls-verify: true\n"
                   "    certificate-authority-data: " +
                       base64(pem_certificate) + "\n"),
       "clusters[c].cluster.insecure-skip-tls-verify can't"},
      {config_text("    {}\n", "    certificate-authority: gone.crt\n"),
       "clusters[c].cluster.certificate-authority names a file"},
  }));
  const std::string message = load_error(dir, text);
  INFO(text);
  CHECK_THAT(message, Catch::Contains(expected));
  CHECK_THAT(message, Catch::Contains((dir / "config").string()));
  CHECK_THAT(message, !Catch::Contains(secret));
  CHECK_THAT(message, !Catch::Contains(base64(secret)));
}

TEST_CASE("a missing file, a directory, or a file that is too large is refused by its name") {
  const TempDir dir;
  CHECK_THROWS_WITH(load_kubeconfig(dir / "gone"), Catch::Contains("gone: No such file"));
  CHECK_THROWS_WITH(load_kubeconfig(dir / ""), Catch::Contains("isn't a regular file"));
  const auto large = dir.write("large", std::string((4 << 20) + 1, '#'));
  CHECK_THROWS_WITH(load_kubeconfig(large), Catch::Contains("is larger than"));
}

TEST_CASE("credentials are sent unencrypted to loopback only") {
  const TempDir dir;
  const auto [server, expected] = GENERATE(table<std::string, std::string>({
      {"http://127.0.0.1:8080", "loaded"},
      {"http://127.9.9.9:8080", "loaded"},
      {"http://localhost:8080", "loaded"},
      {"http://[::1]:8080", "loaded"},
      {"https://10.0.0.1", "loaded"},
      {"http://10.0.0.1", "server is http:// to another machine"},
      {"http://localhost.example.com", "server is http:// to another machine"},
      {"http://127.0.0.1.example.com", "server is http:// to another machine"},
      {"http://0.0.0.0", "server is http:// to another machine"},
      {"ftp://127.0.0.1", "server is neither"},
      {"10.0.0.1:6443", "server isn't a URL"},
      {"https://", "server isn't a URL"},
      {"https://me:pass@host", "server contains a user"},
      {"https://host/?a=b", "server contains a query"},
  }));
  INFO(server);
  const std::string text =
      "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
      "clusters: [{name: c, cluster: {server: '" +
      server + "'}}]\n";
  CHECK_THAT(load_error(dir, text), Catch::Contains(expected));
}

TEST_CASE("yes, on, no and off are what they are for kubectl") {
  const TempDir dir;
  for (const auto& [text, meant] :
       {std::pair("yes", true), std::pair("Yes", true), std::pair("on", true), std::pair("y", true),
        std::pair("true", true), std::pair("no", false), std::pair("OFF", false),
        std::pair("n", false)}) {
    CAPTURE(text);
    CHECK(load(dir,
               config_text("    {}\n", std::string("    insecure-skip-tls-verify: ") + text + "\n"))
              .insecure_skip_tls_verify == meant);
  }
}

TEST_CASE("a proxy and somebody to act as are read") {
  const TempDir dir;
  const auto config =
      load(dir, config_text("    {token: t, as: ada, as-uid: '7', as-groups: [players, 'a b'], "
                            "as-user-extra: {reason: [tests], 'example.org/b c': [x, y]}}\n",
                            "    proxy-url: http://me:pass@proxy:3128\n"));
  CHECK(config.proxy_url == "http://me:pass@proxy:3128");
  using Fields = std::vector<std::pair<std::string, std::string>>;
  CHECK(config.impersonation == Fields{{"Impersonate-User", "ada"},
                                       {"Impersonate-Uid", "7"},
                                       {"Impersonate-Group", "players"},
                                       {"Impersonate-Group", "a b"},
                                       {"Impersonate-Extra-example.org%2Fb%20c", "x"},
                                       {"Impersonate-Extra-example.org%2Fb%20c", "y"},
                                       {"Impersonate-Extra-reason", "tests"}});
  // A proxy would read what is sent without TLS.
  const std::string plain =
      "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c, "
      "cluster: {server: 'http://127.0.0.1:8080', proxy-url: 'http://proxy:3128'}}]\n";
  CHECK_THAT(load_error(dir, plain), Catch::Contains("proxy-url is set, but the proxy would read"));
}

TEST_CASE("KUBECONFIG lists files that count as one, otherwise the home folder's counts") {
  const TempDir dir;
  dir.write("pki/token", "second's");
  const auto first = dir.write("first",
                               "current-context: mine\n"
                               "contexts: [{name: mine, context: {cluster: c, user: u}}]\n"
                               "users: [{name: u, user: {token: first's}}]\n");
  const auto second =
      dir.write("pki/second",
                "current-context: other\n"
                "contexts: [{name: mine, context: {cluster: none}}, "
                "{name: other, context: {cluster: c, user: v}}]\n"
                "clusters: [{name: c, cluster: {server: 'https://one:6443'}}]\n"
                "users: [{name: u, user: {token: no}}, {name: v, user: {tokenFile: token}}]\n");
  const Variable home("HOME", "/home/somebody");
  using Paths = std::vector<std::filesystem::path>;
  {
    const Variable list("KUBECONFIG", ":" + (dir / "gone").string() + ":" + first.string() +
                                          "::" + second.string() + ":");
    const Paths paths = default_kubeconfig_paths();
    CHECK(paths == Paths{dir / "gone", first, second});
    const Kubeconfig mine = load_kubeconfig(paths);
    CHECK(mine.server == "https://one:6443");
    CHECK(mine.token == "first's");
    // Paths are relative to the file that has them.
    CHECK(load_kubeconfig(paths, "other").token_file == dir / "pki/token");
    CHECK_THROWS_WITH(load_kubeconfig(paths, "nobody"),
                      Catch::Contains("first") && Catch::Contains("second") &&
                          Catch::Contains("no entry named \"nobody\""));
  }
  CHECK_THROWS_WITH(load_kubeconfig(Paths{dir / "gone", dir / "lost"}),
                    Catch::Contains("gone: No such file"));
  const Variable list("KUBECONFIG", "");
  CHECK(default_kubeconfig_paths() == Paths{"/home/somebody/.kube/config"});
  const Variable homeless("HOME", "");
  CHECK_THROWS_AS(default_kubeconfig_paths(), std::runtime_error);
}

TEST_CASE("in a cluster, the service account is used") {
  const TempDir dir;
  const Variable host("KUBERNETES_SERVICE_HOST", "fd00::1");
  const Variable port("KUBERNETES_SERVICE_PORT", "443");
  CHECK_THROWS_WITH(in_cluster_config(dir / "x"),
                    Catch::Contains("the service account can't be used"));
  dir.write("x/token", "t");
  dir.write("x/ca.crt", pem_certificate);
  const Kubeconfig config = in_cluster_config(dir / "x");
  CHECK(config.server == "https://[fd00::1]:443");
  CHECK(config.token_file == dir / "x/token");
  CHECK(config.ca_file == dir / "x/ca.crt");
  CHECK_THROWS_WITH(in_cluster_namespace(dir / "x"), Catch::Contains("x/namespace"));
  dir.write("x/namespace", "berth-system\n");
  CHECK(in_cluster_namespace(dir / "x") == "berth-system");
  const Variable bad("KUBERNETES_SERVICE_PORT", "port");
  CHECK_THROWS_WITH(in_cluster_config(dir / "x"), Catch::Contains("aren't a host and a port"));
  const Variable none("KUBERNETES_SERVICE_HOST", "");
  CHECK_THROWS_WITH(in_cluster_config(dir / "x"), Catch::Contains("not in a cluster"));
}
