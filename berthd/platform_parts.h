#pragma once

#include <prometheus/registry.h>

#include <memory>

#include "api/gate/services.h"
#include "berthd/config.h"
#include "berthd/storage.h"
#include "reconcilers/loops/logouts.h"
#include "reconcilers/loops/mail.h"
#include "reconcilers/loops/webhooks.h"

// The parts of berthd that the configuration decides about. Used by platform.cpp, which puts the
// parts together.
namespace berth {

// Creates the loop that sends mail. Returns null, and logs that, if no mail server is set.
std::unique_ptr<reconcilers::MailLoop> mail_loop(const Storage& storage,
                                                 std::shared_ptr<prometheus::Registry> registry);
std::unique_ptr<reconcilers::WebhookLoop> webhook_loop(
    const Storage& storage, const api::Services& services,
    std::shared_ptr<prometheus::Registry> registry);

// Returns the parts of the loop that tells apps of ended sessions.
reconcilers::LogoutLoop::Parts logout_parts(const Storage& storage, const std::string& base_url);
// Logs what an administrator should know of this configuration.
void log_what_to_know(const Config& config);

}  // namespace berth
