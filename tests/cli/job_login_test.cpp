// The client in CI jobs that have no secret: the workflows of docs/tasks/deploy-from-ci.md, against
// an issuer on this machine.
#include <httplib.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>

#include "controller/base/yaml.h"
#include "tests/cli/person.h"
#include "tests/id_token_signer.h"
#include "tests/listening.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::Client;
using berth::process::Headers;
using berth::process::Variables;

namespace {

// The YAML blocks of the page, in its order.
std::vector<json> workflows() {
  std::ifstream file(std::string(berth::test::source_dir) + "/docs/tasks/deploy-from-ci.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const std::string begin = "```yaml\n";
  std::vector<json> all;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    all.push_back(
        berth::parse_yaml(text.substr(at, text.find("```", at) - at), "deploy-from-ci.md"));
  }
  return all;
}

// The words behind `berth` in the step that calls it, with an image that the simulated cluster can
// run in the place of the page's.
Words berth_command(const json& steps) {
  for (const json& step : steps) {
    const std::string line = step.is_object() ? step.at("run") : step;
    const std::size_t at = line.find("berth deploy");
    if (at == std::string::npos) continue;
    Words words;
    std::stringstream rest(line.substr(line.find("deploy", at)));
    for (std::string word; rest >> word;) words.push_back(word);
    const auto image = std::ranges::find(words, "--image");
    const auto wait = std::ranges::find(words, "--wait");
    REQUIRE(image < wait);
    words.erase(image + 1, wait);  // an expression of GitHub has blanks
    words.insert(std::ranges::find(words, "--image") + 1, "docker.io/library/hello:2");
    return words;
  }
  throw std::runtime_error("no step calls berth");
}

// A CI service: it has keys, and a URL where its jobs ask for ID tokens.
class Service {
 public:
  explicit Service(json claims) : claims_(std::move(claims)) {
    http_.Get("/.well-known/openid-configuration",
              [this](const httplib::Request&, httplib::Response& response) {
                const json document = {{"issuer", url()}, {"jwks_uri", url() + "/keys"}};
                response.set_content(document.dump(), "application/json");
              });
    http_.Get("/keys", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(signer_.key_set().dump(), "application/json");
    });
    http_.Get("/token", [this](const httplib::Request& request, httplib::Response& response) {
      if (request.get_header_value("Authorization") != "Bearer of the job") {
        response.status = 401;
        return;
      }
      const json answer = {{"value", id_token(request.get_param_value("audience"))}};
      response.set_content(answer.dump(), "application/json");
    });
    listening_.emplace(http_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(listening_->port()); }
  std::string id_token(const std::string& audience) {
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    json claims = claims_;
    claims.update({{"iss", url()},
                   {"aud", audience},
                   {"sub", "a job"},
                   {"jti", std::to_string(++tokens_made_)},
                   {"iat", now},
                   {"exp", now + 300}});
    return signer_.sign(claims);
  }
  int tokens_made() const { return tokens_made_; }

 private:
  const json claims_;
  const berth::test::IdTokenSigner signer_{berth::jwk::Algorithm::es256};
  std::atomic<int> tokens_made_ = 0;
  httplib::Server http_;
  std::optional<berth::test::Listening> listening_;
};

// An owner with a deployment, whose app trusts the jobs of a service.
struct Owner {
  Berthd berthd;
  Person ada{berthd};
  std::string client_id;
  std::string app_id;

  Owner() {
    ada.settle_in("ada");
    ada.must({"deploy", "create", "shop", "--image", berth::process::well_image});
    client_id = ada.credentials().at("current");
    app_id = ada.credentials().at("apps").at(client_id).at("id");
  }
  Client owner() const { return Client(berthd, ada.credentials().at("session").at("jwt")); }
  std::string trusts() const { return "/api/oauth/my-apps/" + app_id + "/trusts"; }
  // Returns the id of the trust.
  std::string trust(const Service& service, const std::string& kind, const json& claims) const {
    expect(201,
           Client(berthd).post("/api/internal/issuers",
                               {{"issuer", service.url()}, {"name", "Local CI"}, {"kind", kind}},
                               Headers{{"x-internal-secret", berthd.internal_secret()}}));
    const auto made = expect(201, owner().post(trusts(), {{"issuer", service.url()},
                                                          {"audience", berthd.base_url()},
                                                          {"claims", claims},
                                                          {"scopes", {"deploy:manage"}}}));
    return made.body.at("trust").at("id");
  }
};

}  // namespace

TEST_CASE("the workflow of GitHub Actions in the documents deploys without a secret") {
  const Owner o;
  Service github({{"repository_id", "123"}, {"environment", "production"}});
  const std::string trust =
      o.trust(github, "github", {{"repository_id", "123"}, {"environment", "production"}});
  const json workflow = workflows().at(0);
  CHECK(workflow.at("permissions").at("id-token") == "write");
  const json& job = workflow.at("jobs").at("deploy");
  CHECK(job.at("environment") == "production");
  CHECK(job.at("env").size() == 2);
  CHECK(job.at("env").contains("BERTH_URL"));
  CHECK(job.at("env").contains("BERTH_APP"));
  const Variables variables = {{"BERTH_APP", o.client_id},
                               {"ACTIONS_ID_TOKEN_REQUEST_URL", github.url() + "/token?v=1"},
                               {"ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of the job"}};
  const Person runner(o.berthd);
  runner.must(berth_command(job.at("steps")), "", variables);
  CHECK(runner.must({"deploy", "list"}, "", variables).out.find("shop") != std::string::npos);
  CHECK(github.tokens_made() == 1);  // its second command has found the access token
  // Without a home directory nothing is stored, and each command asks again.
  Variables homeless = variables;
  homeless.emplace_back("HOME", "");
  runner.must({"deploy", "list"}, "", homeless);
  CHECK(github.tokens_made() == 2);
  // Other variables come first, and so does a login on the machine.
  CHECK(o.ada.must({"deploy", "list"}, "", variables).out.find("shop") != std::string::npos);
  CHECK(github.tokens_made() == 2);
  expect(200, o.owner().remove(o.trusts() + "/" + trust));
  const Ran ended = runner.berth({"deploy", "list"}, "", variables);
  CHECK(ended.code != 0);
  CHECK(ended.err.find("trust") != std::string::npos);
}

TEST_CASE("the job of GitLab CI in the documents deploys without a secret") {
  const Owner o;
  Service gitlab({{"project_id", "7"}, {"environment", "production"}});
  o.trust(gitlab, "gitlab", {{"project_id", "7"}, {"environment", "production"}});
  const json job = workflows().at(1).at("deploy");
  CHECK(job.at("environment") == "production");
  CHECK(job.at("id_tokens").at("BERTH_ID_TOKEN").at("aud") == job.at("variables").at("BERTH_URL"));
  CHECK(job.at("variables").contains("BERTH_APP"));
  const Variables variables = {{"BERTH_APP", o.client_id},
                               {"BERTH_ID_TOKEN", gitlab.id_token(o.berthd.base_url())}};
  const Person runner(o.berthd);
  runner.must(berth_command(job.at("script")), "", variables);
  CHECK(runner.must({"deploy", "list"}, "", variables).out.find("shop") != std::string::npos);
  // Another machine can't use the ID token again, and one for another service gives nothing.
  const Person thief(o.berthd);
  CHECK(thief.berth({"deploy", "list"}, "", variables).code != 0);
  CHECK(thief
            .berth({"deploy", "list"}, "",
                   {{"BERTH_APP", o.client_id},
                    {"BERTH_ID_TOKEN", gitlab.id_token("https://other.example.org")}})
            .code != 0);
}
