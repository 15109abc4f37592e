#include "api/gate/write_guard.h"

namespace berth::api::write_guard {
namespace {

Error no_room() {
  constexpr std::chrono::seconds retry_after{60};
  Error error(Code::unavailable,
              "the server's disk is nearly full; nothing was changed. Try again later");
  error.retry_after = retry_after;
  return error;
}

}  // namespace

std::optional<Error> refusal(const Services& services, const Writer& writer, Stores stores) {
  const write_budgets::Budget* budget = write_budgets::find(stores);
  if (budget == nullptr) return std::nullopt;
  if (budget->stops_at != DiskStage::ample &&
      services.admission.disk_room->stage() >= budget->stops_at)
    return no_room();
  if (services.admission.write_limits)
    return services.admission.write_counts->refusal(writer, stores, services.clock.now());
  // Operations that require a verified email address require it even if write budgets are off.
  const bool is_for_verified =
      write_budgets::unverified_part(*budget, writer).bytes == 0 && !writer.account_id.empty();
  return is_for_verified && !writer.is_verified() ? std::optional(write_budgets::not_verified())
                                                  : std::nullopt;
}

void charge(const Services& services, const Writer& writer, Stores stores,
            const db::Written& stored) {
  if (services.admission.write_limits)
    services.admission.write_counts->charge(writer, stores, stored, services.clock.now());
}

bool is_verified(const Services& services, const std::string& account_id) {
  return services.db.read_committed([&](db::Tx& tx) {
    const auto user = accounts::find(tx, account_id);
    return user && user->email_verified;
  });
}

}  // namespace berth::api::write_guard
