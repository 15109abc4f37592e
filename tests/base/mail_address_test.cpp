#include "controller/base/mail_address.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace berth;

namespace {

std::string canonical(const std::string& address) {
  const auto result = canonical_mail_address(address);
  return result ? *result : "refused: " + std::string(result.error());
}

bool is_refused(const std::string& address) { return !canonical_mail_address(address); }

}  // namespace

TEST_CASE("texts that name one mailbox have one canonical address") {
  const std::vector<std::vector<std::string>> mailboxes = {
      {"ada@example.org", "Ada@Example.ORG", "ada@ｅxample.org", "ada@ⓔxample.org",
       "ada@exam\u00adple.org", "ada@exam\u200bple.org", "ada@example。org", "ada@example．org"},
      {"ada@xn--bcher-kva.example", "ada@bücher.example", "ada@bu\u0308cher.example",
       "ADA@BÜCHER.example", "ada@XN--BCHER-KVA.example"},
      {"jürgen@example.org", "ju\u0308rgen@example.org", "JÜRGEN@example.org",
       "JU\u0308RGEN@Example.org"},
      {"почта@xn--e1afmkfd.xn--p1ai", "ПОЧТА@пример.рф"},
      {"ada@localhost", "ADA@LocalHost"},
      {"o'neill+news@mail.example.org", "O'Neill+News@mail.example.org"},
  };
  size_t spellings = 0;
  for (const auto& mailbox : mailboxes)
    for (const std::string& address : mailbox) {
      INFO(address);
      CHECK(canonical(address) == mailbox.front());
      ++spellings;
    }
  CHECK(spellings == 23);
  // Non-transitional: ß is a letter of its own, and straße.example isn't strasse.example.
  CHECK(canonical("ada@straße.example") == "ada@xn--strae-oqa.example");
  CHECK(canonical("straße@example.org") != canonical("strasse@example.org"));
}

TEST_CASE("what is canonical stays as it is") {
  for (const char* address : {"ada@example.org", "ada@xn--bcher-kva.example", "jürgen@example.org",
                              "ada.b+c@example.org", "ada@localhost"})
    CHECK(canonical(canonical(address)) == address);
}

TEST_CASE("addresses that can't be delivered to are refused") {
  const std::vector<std::string> refused = {
      "", "@", "ada", "ada@", "@example.org", "a@b@c", "a@b@example.org", "x..y@example.org",
      ".x@example.org", "x.@example.org", "ada@example", "ada@example..org", "ada@.example.org",
      "ada@example.org.", "ada@-example.org", "ada@exam_ple.org", "ada@192.0.2.1",
      "ada@[192.0.2.1]", "ada@example.123", "ada lovelace@example.org", " ada@example.org",
      "ada@example.org ", "ada@exam ple.org", "ada\n@example.org", "a\tb@example.org",
      "\"ada\"@example.org", "ada<b>@example.org", "a,b@example.org", "a;b@example.org",
      "a:b@example.org", "a(b)@example.org", "a\\b@example.org",
      // Invisible, and what only looks like letters or digits.
      "a\u200bda@example.org", "a\u00adda@example.org", "a\u2060da@example.org",
      "ada\ufeff@example.org", "a\u034fda@example.org", "ada\ufe0f@example.org",
      "\u202eada@example.org", "ａｄａ@example.org", "ⓐda@example.org", "𝒂da@example.org",
      "ada²@example.org", "ﬁn@example.org", "ada™@example.org", "ada🌱@example.org",
      "ada@xn--.example", "ada@xn--a.example", "ada@\u202eexample.org",
      std::string("ada\0@example.org", 16), "ada\xff@example.org",
      std::string(65, 'x') + "@example.org", "ä" + std::string(63, 'x') + "@example.org",
      "ada@" + std::string(64, 'x') + ".org", "a@" + std::string(250, 'x') + ".org"};
  for (const std::string& address : refused) {
    INFO(address);
    CHECK(is_refused(address));
  }
  CHECK(refused.size() == 55);
  CHECK_FALSE(is_refused(std::string(64, 'x') + "@example.org"));
  CHECK(is_refused("a" + std::string(300, '\xcc') + "@example.org"));
}
