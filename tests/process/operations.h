#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/process/client.h"

// The operations of openapi.json, as far as tests use them.
namespace berth::process {

enum class Access { open, session, oauth, play_session, internal };

struct Operation {
  std::string id;
  std::string method;
  std::string path;  // with {placeholders}
  Access access = Access::open;
  bool needs_body = false;
  json body_schema;   // with references replaced; null if there is no body
  json body_example;  // a valid body
  json responses;     // by status

  // Returns the path with `value(name)` in place of each placeholder.
  std::string path_with(const std::function<std::string(const std::string&)>& value) const;
  // Throws unless the document lists this answer: its status, the schema of its body, and the
  // error's code.
  void check_listed(const Answer& answer) const;
};

// Throws if berthd doesn't serve the document.
std::vector<Operation> operations_of(const Berthd& berthd);

}  // namespace berth::process
