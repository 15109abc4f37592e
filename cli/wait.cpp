#include "cli/wait.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>

#include "cli/terminal.h"

namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// At first the pauses are short; later they are long enough for the API's limit of 30 requests a
// minute.
constexpr std::array first_pauses = {milliseconds(300), milliseconds(500), milliseconds(1'000)};
constexpr milliseconds later_pause{2'100};
constexpr milliseconds shortest_look{1'000};
constexpr milliseconds longest_look{20'000};  // the server gives up earlier
constexpr const char* away = "the server doesn't answer; waiting for it";

std::string text_of(const json& status, const char* field) {
  const auto found = status.find(field);
  return found != status.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string step(const json& status) {
  std::string text = text_of(status, "status");
  const std::string phase = text_of(status, "phase");
  if (!phase.empty() && phase != text) text += ", " + phase;
  if (const std::string reason = text_of(status, "reason"); !reason.empty())
    text += " (" + reason + ")";
  return text;
}

Failure not_well(const json& status) {
  const std::string reason = text_of(status, "reason");
  const std::string cause = text_of(status, "cause");
  const std::string message = text_of(status, "message");
  std::string sentence = text_of(status, "subdomain") + " is " + text_of(status, "status");
  if (!reason.empty()) sentence += ": " + reason + (cause.empty() ? "" : ", " + cause);
  if (!message.empty()) sentence += ": " + message.substr(0, message.find_last_not_of(" \n") + 1);
  std::string advice = advice_for(cause.empty() ? reason : cause, text_of(status, "subdomain"));
  if (reason == "rollout_failed" ||
      (reason == "release_failed" && text_of(status, "status") == "running"))
    advice = "The old container keeps serving. " + advice;
  return Failure(Exit::failed, sentence, advice, reason);
}

bool has_failed(const json& status) {
  const std::string now = text_of(status, "status");
  return now == "errored" || now == "stopped" || now == "destroyed" ||
         text_of(status, "reason") == "rollout_failed" ||
         text_of(status, "reason") == "release_failed";
}

bool is_done(const json& status) { return text_of(status, "status") == "running"; }

// Asks for the status. Returns nothing if there is no answer at the moment, since a restart of the
// server doesn't end the deployment. Throws Failure if the server refuses or the time is over.
std::optional<json> look_at(Api& api, const std::string& id, Clock::time_point end) {
  const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
  try {
    return api.call({.path = "/api/deploy/apps/" + id + "/status",
                     .time = std::clamp(left, shortest_look, longest_look)});
  } catch (const Failure& failure) {
    if (failure.exit != Exit::unavailable || Clock::now() + later_pause > end) throw;
    return std::nullopt;
  }
}

// What is said if the command is interrupted. A signal's handler may only write what is ready.
constexpr size_t most_said = 512;
std::array<char, most_said> last_words = {};

extern "C" void say_last_words(int signal) {
  // Nothing can be done if that fails; the process ends.
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, last_words.data(), ::strnlen(last_words.data(), most_said));
  ::raise(signal);  // thanks to SA_RESETHAND this ends the process
}

// While such an object exists, Ctrl-C and SIGTERM end the command with a message that says what
// continues without it. Only one may exist at a time.
class Interruptible {
 public:
  explicit Interruptible(const std::string& name) {
    const std::string sentence =
        "The deployment continues without this command; `berth deploy status " + printable(name) +
        "` shows its state.";
    const std::string text =
        says_text() ? "\n" + sentence + "\n" : json{{"message", sentence}}.dump() + "\n";
    last_words = {};
    text.copy(last_words.data(), most_said - 1);
    struct sigaction action = {};
    action.sa_handler = say_last_words;
    action.sa_flags = SA_RESETHAND;
    for (size_t i = 0; i < endings.size(); ++i) {
      ::sigaction(endings[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(endings[i], &action, nullptr);
    }
  }
  ~Interruptible() {
    for (size_t i = 0; i < endings.size(); ++i) ::sigaction(endings[i], &before_[i], nullptr);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  static constexpr std::array endings = {SIGINT, SIGTERM};
  std::array<struct sigaction, endings.size()> before_ = {};
};

}  // namespace

// In short what docs/reference/reasons.md says. DEPLOYMENT stands for the deployment's name.
std::string advice_for(std::string_view reason, const std::string& deployment) {
  static const std::map<std::string_view, std::string> advices = {
      {"image_pull_failed", "Check the image's name, tag and registry credentials."},
      {"crash_loop",
       "See its last lines with `berth deploy logs DEPLOYMENT`; after a restart, --previous prints "
       "those of the run before."},
      {"port_not_listening",
       "Listen on 0.0.0.0 and on the deployment's port; ports below 1024 require root."},
      {"out_of_memory", "Use less memory, or a larger tier; `berth tiers` lists them."},
      {"quota_exceeded", "Delete a deployment, or ask the cluster's admins."},
      {"unschedulable", "No node has enough room; ask the cluster's admins."},
      {"image_needs_root", "Use an unprivileged variant of the image."},
      {"image_too_large", "Make the image smaller, and deploy it again."},
      {"runtime_class_missing", "Choose another tier, or ask the platform's admins."},
      {"rollout_failed",
       "Fix the image, or return to the earlier rollout with `berth deploy rollback DEPLOYMENT`."},
      {"release_failed",
       "See its output with `berth runs log DEPLOYMENT`, fix it and deploy again; `berth deploy "
       "restart "
       "DEPLOYMENT` runs it once more."},
      {"cluster_refused", "Ask the cluster's admins."},
      {"cluster_unreachable",
       "You don't have to do anything: berth continues when the cluster answers."},
      {"dns_not_pointing", "Set the DNS records that `berth deploy domain DEPLOYMENT` shows."},
      {"domain_taken",
       "Release the domain with `berth deploy domain DEPLOYMENT --remove`, or use another one."},
      {"certificate_failed", "See `berth deploy domain DEPLOYMENT`."},
      {"certificate_pending",
       "You don't have to do anything: https works once the certificate has been issued."},
      {"cluster_refuses_writes",
       "You don't have to do anything: berth tries again, and the cluster's admins see it too."},
      {"changed_by_others", "Ask the cluster's admins who changes the deployment's objects."},
      {"suspended_by_admin", "Ask the platform's admins."},
  };
  const auto found = advices.find(reason);
  if (found == advices.end()) return "";
  constexpr std::string_view placeholder = "DEPLOYMENT";
  std::string advice = found->second;
  if (const size_t at = advice.find(placeholder); at != std::string::npos)
    advice.replace(at, placeholder.size(), deployment);
  return advice;
}

void say_reason(const json& status) {
  const std::string reason = text_of(status, "reason");
  if (reason.empty()) return;
  const Failure why = not_well(status);
  say(std::string(why.what()) + ". " + why.advice);
}

json wait_until_running(Api& api, const std::string& id, std::chrono::seconds time) {
  const auto end = Clock::now() + time;
  std::string told;
  std::string name;
  std::optional<Interruptible> interruptible;
  interruptible.emplace(id);
  LiveLine line;
  for (size_t look = 0;; ++look) {
    const std::optional<json> status = look_at(api, id, end);
    line.show(told = status ? step(*status) : away);
    if (status && name.empty()) {
      name = text_of(*status, "subdomain");
      interruptible.emplace(name);
    }
    if (status && has_failed(*status)) throw not_well(*status);
    if (status && is_done(*status)) return *status;
    const milliseconds pause = look < first_pauses.size() ? first_pauses[look] : later_pause;
    if (Clock::now() + pause > end)
      throw Failure(Exit::timed_out,
                    "it is still " + told + " after " + std::to_string(time.count()) + " s",
                    "The deployment continues without this command; see `berth deploy status " +
                        (name.empty() ? id : name) + "`.");
    line.wait(pause);
  }
}

}  // namespace berth::cli
