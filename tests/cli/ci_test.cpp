// The client in CI jobs: no home directory, and secrets as CI services pass them.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::Variables;

namespace {

constexpr int usage = 2;
constexpr int not_logged_in = 3;
constexpr int not_found = 5;

Variables without_home(const Variables& more) {
  Variables all = {{"HOME", ""}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("without a home directory, a token or an app's credentials suffice") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const std::string token = ada.must({"token"}).out;
  const json app = ada.must({"apps", "show", "--show-secret", "-o", "json"}).body();
  const Person job(berthd);
  for (const Variables& variables : {Variables{{"BERTH_TOKEN", token.substr(0, token.size() - 1)}},
                                     Variables{{"BERTH_CLIENT_ID", app.at("client_id")},
                                               {"BERTH_CLIENT_SECRET", app.at("client_secret")}}}) {
    CAPTURE(variables.front().first);
    for (const Words& words :
         {Words{"deploy", "list"}, Words{"whoami"}, Words{"config", "show"}, Words{"doctor"},
          Words{"deploy", "create", "shop", "--image", "quay.io/x:1"}}) {
      CAPTURE(words.front());
      const Ran ran = job.berth(words, "", without_home(variables));
      CHECK(ran.code == (words.back() == "quay.io/x:1" ? 7 : 0));
    }
  }
  CHECK(job.berth({"deploy", "list"}, "", without_home({})).code == not_logged_in);
  // What has to be stored says what is missing.
  const Ran login = job.berth({"login", "--email", "ada@example.org", "--password-stdin"},
                              Person::password(), without_home({}));
  CHECK(login.code == usage);
  CHECK(login.err.find("neither XDG_STATE_HOME nor HOME is set") != std::string::npos);
  CHECK(std::filesystem::is_empty(job.home()));
}

TEST_CASE("a line end behind a secret doesn't matter, and a second line is refused") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const std::string token = ada.must({"token"}).out;  // ends with a line end
  const json app = ada.must({"apps", "show", "--show-secret", "-o", "json"}).body();
  const std::string secret = app.at("client_secret");
  const Person job(berthd);
  const auto list = [&](const Variables& variables) {
    return job.berth({"deploy", "list"}, "", variables);
  };
  const std::pair<const char*, std::string> client = {"BERTH_CLIENT_ID", app.at("client_id")};
  CHECK(list({{"BERTH_TOKEN", token}}).code == 0);
  CHECK(list({{"BERTH_TOKEN", token + "\r\n "}}).code == 0);
  CHECK(list({{"BERTH_CLIENT_ID", client.second + "\n"}, {"BERTH_CLIENT_SECRET", secret + "\r\n"}})
            .code == 0);
  CHECK(job.berth({"admin", "treasury"}, "",
                  {{"BERTH_INTERNAL_SECRET", berthd.internal_secret() + "\n"}})
            .code == 0);
  for (const char* name : {"BERTH_TOKEN", "BERTH_CLIENT_SECRET", "BERTH_INTERNAL_SECRET",
                           "BERTH_CLIENT_ID", "BERTH_APP", "BERTH_URL"}) {
    CAPTURE(name);
    const Ran ran = list({{name, "hidden\nX-Header: value"}});
    CHECK(ran.code == usage);
    CHECK(ran.err.find(std::string(name) + " holds more than one line of text") !=
          std::string::npos);
    CHECK(ran.err.find("hidden") == std::string::npos);
  }
}

TEST_CASE("a secret that is stored here can be shown, and another machine needs none") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "hello", "--image", berth::process::well_image});
  const std::string secret =
      ada.must({"apps", "show", "--show-secret", "-o", "json"}).body().at("client_secret");
  CHECK(secret.starts_with("cs_live_"));
  CHECK(ada.must({"apps", "show"}).out.find("cs_live_") == std::string::npos);

  const Person second(berthd);
  second.must({"login", "--email", "ada@example.org", "--password-stdin"}, Person::password());
  CHECK(second.must({"deploy", "list"}).out.find("hello") != std::string::npos);
  second.must({"apps", "use", "Game of ada"});
  second.must({"deploy", "get", "hello"});
  second.must({"totp", "setup"});  // the login by password is still there
  const Ran none = second.berth({"apps", "show", "--show-secret"});
  CHECK(none.code == not_found);
  CHECK(none.err.find("rotate-secret") != std::string::npos);
  const std::string access = second.credentials().at("login").at("tokens").at("access_token");
  second.must({"logout"});
  CHECK(second.berth({"deploy", "list"}).code == not_logged_in);
  CHECK(second.berth({"deploy", "list"}, "", {{"BERTH_TOKEN", access}}).code == not_logged_in);
  // Nothing that another program uses has changed.
  CHECK(ada.berth({"deploy", "list"}, "",
                  {{"BERTH_CLIENT_ID", ada.credentials().at("current")},
                   {"BERTH_CLIENT_SECRET", secret}})
            .code == 0);
}
