#include "api/gate/language.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;
using namespace berth::api;

Language chosen_by(const std::string& cookie, const std::string& accepted) {
  Request request;
  if (!cookie.empty()) request.headers.add("Cookie", cookie);
  if (!accepted.empty()) request.headers.add("Accept-Language", accepted);
  return language_of(request);
}

}  // namespace

TEST_CASE("the language is the best one of Accept-Language that there is") {
  CHECK(preferred_language("") == Language::en);
  CHECK(preferred_language("de") == Language::de);
  CHECK(preferred_language("de-AT,de;q=0.9,en;q=0.8") == Language::de);
  CHECK(preferred_language("DE-at") == Language::de);
  CHECK(preferred_language("en-GB,de;q=0.9") == Language::en);
  CHECK(preferred_language("fr,de;q=0.5,en;q=0.4") == Language::de);
  CHECK(preferred_language("en;q=0.4 , de ; q=0.5") == Language::de);
  CHECK(preferred_language("fr, *") == Language::en);
  CHECK(preferred_language("de;q=0") == Language::en);
  CHECK(preferred_language("de, en") == Language::de);
  CHECK(preferred_language("dessert, de;q=0.1") == Language::de);
  for (const char* malformed :
       {"de;q=", "de;q=x", "de;q=2", "de;q=0.x", ";;;,,,", "=", "de;q=0.0000"})
    CHECK(preferred_language(malformed) == Language::en);
}

TEST_CASE("of a very long Accept-Language the beginning is read") {
  const std::string long_one(10'000, ',');
  CHECK(preferred_language("de" + long_one) == Language::de);
  CHECK(preferred_language(long_one + "de") == Language::en);
  std::string many;
  while (many.size() < 10'000) many += "fr;q=0.1,";
  CHECK(preferred_language(many + "de") == Language::en);
  CHECK(preferred_language(std::string(10'000, 'd')) == Language::en);
}

TEST_CASE("a cookie decides before Accept-Language, if it names a language that there is") {
  CHECK(chosen_by("berth_language=de", "en") == Language::de);
  CHECK(chosen_by("a=b; berth_language=en", "de") == Language::en);
  CHECK(chosen_by("", "de") == Language::de);
  CHECK(chosen_by("", "") == Language::en);
  for (const char* unknown : {"berth_language=fr", "berth_language=", "berth_language=DE",
                              "berth_language=../de", "xberth_language=en"})
    CHECK(chosen_by(unknown, "de") == Language::de);
}
