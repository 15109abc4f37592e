#pragma once

#include "api/gate/call.h"

// Friends and requests for friendship.
namespace berth::api {

Reply list_friends(db::Tx& tx, const Call& call, const Services& services);
Reply request_friend(db::Tx& tx, const Call& call, const Services& services);
Reply list_friend_requests(db::Tx& tx, const Call& call, const Services& services);
Reply accept_friend(db::Tx& tx, const Call& call, const Services& services);
Reply reject_friend(db::Tx& tx, const Call& call, const Services& services);
Reply withdraw_friend_request(db::Tx& tx, const Call& call, const Services& services);
Reply remove_friend(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
