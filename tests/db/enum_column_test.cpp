#include "controller/db/enum_column.h"

#include <catch2/catch.hpp>

#include "controller/db/sqlite/connection.h"

namespace {

using namespace berth;

enum class Door { open, closed };
constexpr auto texts_of(Door) { return EnumTexts<Door::closed>{"open", "closed"}; }

class OneRow {
 public:
  explicit OneRow(const std::optional<std::string>& state)
      : query_(connection_, "SELECT CAST($1 AS TEXT) AS state") {
    query_.bind(1, state);
    REQUIRE(query_.next());
  }
  const db::Query& row() const { return query_; }

 private:
  db::sqlite::Connection connection_{":memory:", SQLite::OPEN_READWRITE, ""};
  db::Query query_;
};

TEST_CASE("a column is read as an enum") {
  CHECK(db::enum_of<Door>(OneRow("closed").row(), "state") == Door::closed);
  CHECK(db::enum_or_null<Door>(OneRow("open").row(), "state") == Door::open);
  CHECK_FALSE(db::enum_or_null<Door>(OneRow(std::nullopt).row(), "state"));
}

TEST_CASE("a column with a text that the enum doesn't have is an error that names both") {
  const OneRow ajar("ajar");
  const std::string message =
      R"(the column state has the text "ajar", which is not open or closed)";
  CHECK_THROWS_WITH(db::enum_of<Door>(ajar.row(), "state"), message);
  CHECK_THROWS_WITH(db::enum_or_null<Door>(ajar.row(), "state"), message);
  CHECK_THROWS_AS(db::enum_of<Door>(OneRow(std::nullopt).row(), "state"), std::runtime_error);
}

}  // namespace
