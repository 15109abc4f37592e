#include "controller/db/postgres/server.h"

#include <catch2/catch.hpp>

namespace {

using berth::db::postgres::Place;
using berth::db::postgres::places_of;
using Places = std::vector<Place>;

TEST_CASE("the servers of an address are asked one after the other") {
  CHECK(places_of("postgresql://u@one:1,two:2/db") == Places{{"one", "", "1"}, {"two", "", "2"}});
  CHECK(places_of("postgresql://u@one:1,two/db") == Places{{"one", "", "1"}, {"two", "", "5432"}});
  CHECK(places_of("postgresql://u@one,two/db") == Places{{"one", "", "5432"}, {"two", "", "5432"}});
  CHECK(places_of("host=one,two") == Places{{"one", "", ""}, {"two", "", ""}});
  CHECK(places_of("host=one,two hostaddr=192.0.2.1,192.0.2.2 port=7") ==
        Places{{"one", "192.0.2.1", "7"}, {"two", "192.0.2.2", "7"}});
  CHECK(places_of("hostaddr=192.0.2.1,192.0.2.2") ==
        Places{{"", "192.0.2.1", ""}, {"", "192.0.2.2", ""}});
}

TEST_CASE("an address with one server, or with a list that is wrong, is left to libpq") {
  for (const char* address : {"postgresql://u@one:1/db", "dbname=berth", "host=one,two port=1,2,3",
                              "host=one,,two", "host=one,two hostaddr=192.0.2.1"}) {
    INFO(address);
    CHECK(places_of(address) == Places{Place()});
  }
}

}  // namespace
