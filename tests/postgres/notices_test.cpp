// Hints between several processes on one database.
#include "controller/db/postgres/notices.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <set>

#include "controller/db/postgres/connection.h"
#include "tests/store.h"

namespace berth::test {
namespace {

using db::Note;
using db::Topic;

TEST_CASE("notes are sent in payloads that the server takes, and read again") {
  constexpr size_t most = 7'900;
  std::set<Note> notes = {{Topic::webhook, ""}, {Topic::chat, "a b"}};
  for (int i = 0; i < 1'000; ++i) notes.emplace(Topic::deployment, std::to_string(i));
  std::set<Note> read;
  for (const std::string& payload : db::postgres::payloads_of(notes)) {
    CHECK(payload.size() <= most);
    for (const Note& note : db::postgres::notes_of(payload)) read.insert(note);
  }
  CHECK(read == notes);
}

TEST_CASE("notes of another version are left out") {
  CHECK(db::postgres::notes_of("later 1\nchat 2\n\nnonsense\n") ==
        std::vector<Note>{{Topic::chat, "2"}});
  CHECK(db::postgres::payloads_of({{Topic::chat, std::string(10'000, 'x')}}).empty());
}

// tests/postgres/ways.py runs this case through pgbouncer, too.
TEST_CASE("a connection hears what others send, and not what it sent itself") {
  TestDatabase database(TestDatabase::Content::nothing);
  const db::postgres::Server server = {.address = database.address(), .password_file = {}};
  db::postgres::Connection listening(server), other(server);
  const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  listening.listen("heard_in_tests", soon);
  listening.run("NOTIFY heard_in_tests, 'own'", soon);
  other.run("NOTIFY heard_in_tests, 'first'; NOTIFY heard_in_tests, 'last'", soon);
  std::vector<std::string> heard;
  while (heard.empty() || heard.back() != "last") {
    REQUIRE(std::chrono::steady_clock::now() < soon);
    for (std::string& payload : listening.heard()) heard.push_back(std::move(payload));
    pollfd waiting = {.fd = listening.socket(), .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, 100);
  }
  CHECK(heard == std::vector<std::string>{"first", "last"});
}

}  // namespace
}  // namespace berth::test
