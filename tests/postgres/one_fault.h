#pragma once

#include "controller/db/postgres/connection.h"

namespace berth::test {

// Has one of the next statements fail.
struct OneFault {
  db::postgres::Fault fault;
  int left = 0;  // the number of the statement, counted from 1; 0: none fails
  bool has_come = false;

  db::postgres::FaultOf function() {
    return [this](std::string_view) {
      if (left == 0 || --left > 0) return db::postgres::Fault::none;
      has_come = true;
      return fault;
    };
  }
};

}  // namespace berth::test
