#pragma once

namespace berth {

// Tells the service manager that berthd serves, if one asks for it by NOTIFY_SOCKET (sd_notify(3)).
// If the message can't be sent, logs that and goes on: the manager's own time limit decides then.
void notify_ready();

}  // namespace berth
