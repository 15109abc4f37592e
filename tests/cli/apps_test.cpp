// Apps with the client: which one a name means, and what deleting one costs.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

constexpr int usage = 2;
constexpr int not_found = 5;

std::vector<std::string> ids(const Person& person) {
  std::vector<std::string> found;
  const json body = person.must({"apps", "list", "-o", "json"}).body();
  for (const json& app : body.at("apps")) found.push_back(app.at("id"));
  return found;
}

}  // namespace

TEST_CASE("an app isn't chosen by a name that two apps have") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"apps", "create", "Twin"});
  ada.must({"apps", "create", "Twin"});
  for (const Words& words :
       {Words{"apps", "use", "Twin"}, Words{"apps", "delete", "Twin", "--yes"},
        Words{"apps", "show", "Twin"}, Words{"deploy", "list", "--app", "Twin"},
        Words{"apps", "rotate-secret", "Twin", "--yes"}}) {
    CAPTURE(words.at(1));
    const Ran ran = ada.berth(words);
    CHECK(ran.code == usage);
    CHECK(ran.err.find("several apps are called Twin") != std::string::npos);
  }
  const auto all = ids(ada);
  REQUIRE(all.size() == 3);
  const Ran asked = ada.berth({"apps", "use", "Twin"});
  CHECK(asked.err.find(all[0]) != std::string::npos);
  CHECK(asked.err.find(all[1]) != std::string::npos);
  ada.must({"apps", "use", all[1]});
  ada.must({"apps", "delete", all[0], "--yes"});
  CHECK(ids(ada) == std::vector<std::string>{all[1], all[2]});
  ada.must({"apps", "delete", "Twin", "--yes"});  // now there is just one
  CHECK(ids(ada) == std::vector<std::string>{all[2]});
}

TEST_CASE("an app of the same name that another machine has made counts, too") {
  const Berthd berthd;
  const Person here(berthd);
  const Person there(berthd);
  here.settle_in("ada");
  there.must({"login", "--email", "ada@example.org", "--password-stdin"}, Person::password());
  there.must({"apps", "create", "Game of ada"});
  CHECK(here.berth({"apps", "delete", "Game of ada", "--yes"}).code == usage);
  CHECK(ids(here).size() == 2);
}

TEST_CASE("the question before an app is deleted says what becomes of its points") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada", "deploy:manage,app:balance:read");
  ada.admin({"mint", "70", "--reason", "to see them go"});
  const Ran no = ada.at_terminal({"apps", "delete", "Game of ada"}, "n\n");
  CHECK(no.code == 1);
  CHECK(no.out.find("The 70 points on its account go to the treasury") != std::string::npos);
  REQUIRE(ids(ada).size() == 1);
  const Ran yes = ada.at_terminal({"apps", "delete", "Game of ada"}, "Game of ada\n");
  CHECK(yes.code == 0);
  CHECK(ids(ada).empty());
}

TEST_CASE("a name that is nearly an app's is suggested") {
  const Berthd berthd;
  const Person ada(berthd);
  ada.settle_in("ada");
  const Ran ran = ada.berth({"apps", "show", "Game of adda"});
  CHECK(ran.code == not_found);
  CHECK(ran.err.find("did you mean Game of ada?") != std::string::npos);
}
