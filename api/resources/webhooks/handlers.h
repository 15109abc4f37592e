#pragma once

#include "api/gate/call.h"

// An app's webhooks, through which its owner is notified over HTTP.
namespace berth::api {

Reply list_webhooks(db::Tx& tx, const Call& call, const Services& services);
Reply create_webhook(db::Tx& tx, const Call& call, const Services& services);
Reply change_webhook(db::Tx& tx, const Call& call, const Services& services);
Reply rotate_webhook_secret(db::Tx& tx, const Call& call, const Services& services);
Reply delete_webhook(db::Tx& tx, const Call& call, const Services& services);
Reply test_webhook(db::Tx& tx, const Call& call, const Services& services);
Reply list_deliveries(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
