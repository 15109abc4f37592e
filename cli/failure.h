#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/http.h"

// The errors of the client: one exception type, and exit codes that scripts may rely on.
namespace berth::cli {

using nlohmann::json;

// The numbers are part of the interface, because scripts branch on them. They never change.
enum class Exit {
  ok = 0,
  failed = 1,         // any other error, and a deployment that failed
  usage = 2,          // flags, configuration or berth.yaml are invalid
  not_logged_in = 3,  // there are no credentials, or they no longer work
  forbidden = 4,
  not_found = 5,
  conflict = 6,
  invalid = 7,      // the server refused the contents: fields, balance, limits of the tier
  unavailable = 8,  // no answer, 5xx, or still rate limited after waiting
  timed_out = 9,    // --wait took longer than --timeout
};

struct ExitInfo {
  Exit exit;
  std::string_view name;  // for programs
  std::string_view meaning;
};
// All exit codes in order, for the manual and the documentation.
std::span<const ExitInfo> exit_codes();

// Ends a command with an exit code. `what()` is a sentence for the user; no part contains a secret.
struct Failure : std::runtime_error {
  Failure(Exit code, const std::string& message, std::string what_to_do = "",
          std::string error_code = "")
      : std::runtime_error(message),
        exit(code),
        advice(std::move(what_to_do)),
        server_code(std::move(error_code)) {}
  Exit exit;
  std::string advice;                // what to do next; may be empty
  std::string docs_url;              // where the server explains its code; may be empty
  std::string server_code;           // the code in the server's answer; may be empty
  std::vector<std::string> details;  // one "field reason" each
};
// Ends a command with the exit code 1 and without a message, because what it printed differs.
struct Differs {};
// The same with another exit code: that of a command that ran at the server.
struct ExitWith {
  int code;
};

// {"error": {"code", "message", "details", "advice", "docs_url", "exit_code"}}: the form of an
// error for programs. The code is the server's, or the name of the exit code where there is none.
json as_json(const Failure& failure);

// The meaning of an error answer (status 400 or more), whose body may have any of the API's four
// forms, or be anything else, such as a proxy's page.
Failure failure_of(const HttpResponse& response);

}  // namespace berth::cli
