#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/process/client.h"

// The operations of openapi.json, as far as tests are driven by them.
namespace berth::process {

enum class Access { open, session, oauth, play_session, internal };

struct Operation {
  std::string id;
  std::string method;
  std::string path;  // with {placeholders}
  Access access = Access::open;
  bool needs_body = false;
  json body_schema;   // without references; null where it has no body
  json body_example;  // a body that would do
  json responses;     // by status

  // The path with `value(name)` in each placeholder.
  std::string path_with(const std::function<std::string(const std::string&)>& value) const;
  // That the document knows this answer: its status, the shape of its body, the error's code.
  void check_listed(const Answer& answer) const;
};

// Throws where the document isn't served.
std::vector<Operation> operations_of(const Berthd& berthd);

}  // namespace berth::process
