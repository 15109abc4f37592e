#include "reconcilers/kube/exec_status.h"

#include <nlohmann/json.hpp>

#include "controller/base/text.h"
#include "reconcilers/kube/answers.h"

namespace berth::kube {
namespace {

std::string word(const Object& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// details.causes has one with the reason ExitCode, whose message is the code.
std::optional<int> exit_code_in(const Object& status) {
  const auto details = status.find("details");
  if (details == status.end() || !details->is_object()) return std::nullopt;
  const auto causes = details->find("causes");
  if (causes == details->end() || !causes->is_array()) return std::nullopt;
  for (const Object& cause : *causes)
    if (cause.is_object() && word(cause, "reason") == "ExitCode")
      return parse_number<int>(word(cause, "message"));
  return std::nullopt;
}

}  // namespace

std::optional<ExecStatus> parse_exec_status(std::string_view text) {
  Object status;
  try {
    status = parse_object(text, "exec");
  } catch (const ApiError&) {
    return std::nullopt;
  }
  const std::string outcome = word(status, "status");
  if (outcome == "Success") return ExecStatus{.succeeded = true, .exit_code = 0, .message = {}};
  if (outcome != "Failure") return std::nullopt;
  return ExecStatus{.succeeded = false,
                    .exit_code = word(status, "reason") == "NonZeroExitCode" ? exit_code_in(status)
                                                                             : std::nullopt,
                    .message = word(status, "message")};
}

}  // namespace berth::kube
