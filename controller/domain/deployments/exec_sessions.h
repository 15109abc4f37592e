#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/exec.h"

// Who may open sessions in containers, and what is recorded of them. The sessions themselves are
// those of exec.h.
namespace berth::exec {

enum class SessionKind { exec, port_forward };
constexpr auto texts_of(SessionKind) {
  return EnumTexts<SessionKind::port_forward>{"exec", "port_forward"};
}

// Whether the deployment's tier allows sessions in its containers.
bool exec_allowed(db::Tx& tx, const deployments::Deployment& deployment);

// Checks that a session in a container of the deployment may begin, or go on. Throws
// exec_not_allowed, deployment_suspended, and invalid_state with what starts the deployment.
void require_sessions(db::Tx& tx, const deployments::Deployment& deployment);

// A session, as it is recorded. Nothing that is sent in it is, and of a command only the first
// word, because the others may be secrets.
struct Recorded {
  std::string session_id;  // joins its two entries
  SessionKind kind = SessionKind::exec;
  std::string user_id;
  std::string app_id;
  std::string deployment_id;
  std::string instance;  // the name of the pod
  std::string command;   // the first word; empty for a port
  int port = 0;          // 0 for a command
  std::string request_id;
};
// The most of a command's first word that is recorded, in bytes.
inline constexpr size_t max_recorded_command = 128;

// Writes the entry of the audit log for a session that begins; for a command, also one of the
// deployment's log.
void record_begin(db::Tx& tx, const Recorded& session);
// Writes the entry of the audit log for its end.
struct Ended {
  std::chrono::milliseconds took{0};
  std::optional<int> exit_code = {};
  std::string why;  // why it ended, if the command or the connection didn't end by itself
};
void record_end(db::Tx& tx, const Recorded& session, const Ended& end);

}  // namespace berth::exec
