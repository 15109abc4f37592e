#include "api/resources/accounts/deletion.h"

#include "api/resources/accounts/sign_in.h"
#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/user_admin.h"

namespace berth::api {

void delete_account(const accounts::User& user, const std::string& password,
                    const std::string& address, const Services& services) {
  confirm_password(user, password, address, services);
  services.db.write([&](db::Tx& tx) {
    const auto current = accounts::find(tx, user.id);
    if (!current) return;
    audit::record_operation(tx, "user", user.id);
    accounts::delete_account(tx, *current, services.keys);
    // This comes after the deletion, which removes the mail that waits for this address.
    outbox::put(tx, services.keys.data, accounts::deletion_letter(*current));
  });
  services.memory.presence->forget(user.id);
}

}  // namespace berth::api
