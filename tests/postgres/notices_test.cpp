// Hints between several berthd on one database.
#include "controller/db/postgres/notices.h"

#include <catch2/catch.hpp>
#include <set>

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

}  // namespace
}  // namespace berth::test
