#include "controller/domain/lifecycle/expiry.h"

#include <algorithm>
#include <array>

#include "controller/domain/accounts/expiry.h"
#include "controller/domain/accounts/guests.h"
#include "controller/domain/apps/invitations.h"
#include "controller/domain/deployments/builds/builds.h"
#include "controller/domain/deployments/custom_domains/certificate_orders.h"
#include "controller/domain/deployments/erasure.h"
#include "controller/domain/deployments/runs/runs.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/idempotency_keys.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/kernel/write_budgets.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/ledger/rewards.h"
#include "controller/domain/lifecycle/erasure.h"
#include "controller/domain/lifecycle/guests.h"
#include "controller/domain/oauth/expiry.h"
#include "controller/domain/social/chat.h"
#include "controller/domain/social/presence.h"

namespace berth::expiry {
namespace {

struct Part {
  bool (*is_any_old)(db::Tx& tx);
  int (*remove_old)(db::Tx& tx, int limit);
};
// A module that has rows to expire registers here.
constexpr std::array parts = {
    Part{idempotency_keys::is_any_old, idempotency_keys::remove_old},
    Part{audit::is_any_old, audit::remove_old},
    Part{write_budgets::is_any_old, write_budgets::remove_old},
    Part{outbox::is_any_unsent, outbox::remove_unsent},
    Part{holds::is_any_old, holds::remove_old},
    Part{rewards::is_any_old, rewards::remove_old},
    Part{accounts::is_any_old, accounts::remove_old},
    Part{guests::is_any_due, guests::remove_due},
    Part{apps::is_any_invitation_old, apps::remove_old_invitations},
    Part{oauth::is_any_old, oauth::remove_old},
    Part{certificate_orders::is_any_old, certificate_orders::remove_old},
    Part{chat::is_any_old, chat::remove_old},
    Part{chat::is_any_abandoned, chat::remove_abandoned},
    Part{presence::is_any_old, presence::remove_old},
    Part{deployments::are_old_words_left, deployments::erase_old_words},
    Part{builds::is_any_old, builds::remove_old},
    Part{runs::is_any_old, runs::remove_old},
    Part{erasure::is_due, erasure::erase_some},
};

}  // namespace

bool is_anything_due(db::Tx& tx) {
  return std::ranges::any_of(parts, [&](const Part& part) { return part.is_any_old(tx); });
}

int remove_some(db::Tx& tx, int limit) {
  int removed = 0;
  for (const Part& part : parts)
    if (removed < limit) removed += part.remove_old(tx, limit - removed);
  return removed;
}

int remove_all(Round& round, int batch) {
  const int removed =
      round.repeat(is_anything_due, [&](db::Tx& tx) { return remove_some(tx, batch); });
  if (removed > 0) log::debug("removed expired rows", {{"rows", removed}});
  return removed;
}

Loop loop() {
  return {.name = "expiry",
          .interval = std::chrono::seconds(10),
          .lease = "expiry",
          .round = [](Round& round) { remove_all(round); },
          .failure = "expired rows couldn't be removed"};
}

}  // namespace berth::expiry
