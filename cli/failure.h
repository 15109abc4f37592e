#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/http.h"

// How the client fails: one exception, and the exit codes that scripts may rely on.
namespace berth::cli {

using nlohmann::json;

// Part of the interface: scripts branch on the numbers. They never change.
enum class Exit {
  ok = 0,
  failed = 1,         // anything else, and a deployment that didn't become well
  usage = 2,          // flags, configuration or berth.yaml can't be understood
  not_logged_in = 3,  // no credentials, or they no longer work
  forbidden = 4,
  not_found = 5,
  conflict = 6,
  invalid = 7,      // the server refused what was sent: fields, balance, limits of the tier
  unavailable = 8,  // no answer, 5xx, or rate limited even after waiting
  timed_out = 9,    // --wait took longer than --timeout
};

struct ExitInfo {
  Exit exit;
  std::string_view meaning;
};
// All of them, in order: for the manual and the documentation.
std::span<const ExitInfo> exit_codes();

// Ends a command. `what()` is a sentence for people; neither it nor the rest holds a secret.
struct Failure : std::runtime_error {
  Failure(Exit code, const std::string& message, std::string what_to_do = "",
          std::string error_code = "")
      : std::runtime_error(message),
        exit(code),
        advice(std::move(what_to_do)),
        server_code(std::move(error_code)) {}
  Exit exit;
  std::string advice;                // what to do next; may be empty
  std::string server_code;           // the code in the server's answer; may be empty
  std::vector<std::string> details;  // "field reason", one each
};

// What a refusal (status 400 or more) means, in whichever of the four forms of the API its body is.
// Takes anything, also the page of a proxy.
Failure failure_of(const HttpResponse& response);

}  // namespace berth::cli
