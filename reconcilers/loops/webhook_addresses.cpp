#include "reconcilers/loops/webhook_addresses.h"

#include <algorithm>
#include <utility>

#include "controller/base/public_address.h"

namespace berth::reconcilers {

WebhookAddresses::WebhookAddresses(Reach reach, std::vector<AddressRange> closed)
    : reach_(reach), closed_(std::move(closed)) {}

bool WebhookAddresses::allows(const sockaddr& address) const {
  return (reach_ == Reach::private_too || is_public_address(address)) &&
         std::ranges::none_of(closed_,
                              [&](const AddressRange& range) { return contains(range, address); });
}

}  // namespace berth::reconcilers
