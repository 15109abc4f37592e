#pragma once

#include "api/gate/call.h"

// Handlers of accounts: registration, login, sessions, and the user's own account.
namespace berth::api {

Reply register_account(const Call& call, const Services& services);
Reply login(const Call& call, const Services& services);
Reply verify_email(db::Tx& tx, const Call& call, const Services& services);
Reply self_verify_email(db::Tx& tx, const Call& call, const Services& services);
Reply resend_verification(db::Tx& tx, const Call& call, const Services& services);
Reply logout(db::Tx& tx, const Call& call, const Services& services);
Reply list_sessions(db::Tx& tx, const Call& call, const Services& services);
Reply end_session(db::Tx& tx, const Call& call, const Services& services);
Reply me(db::Tx& tx, const Call& call, const Services& services);
Reply update_me(db::Tx& tx, const Call& call, const Services& services);
Reply delete_me(const Call& call, const Services& services);
Reply external_profile(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
