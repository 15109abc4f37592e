#pragma once

#include <sys/socket.h>

#include <vector>

#include "controller/base/address_range.h"

namespace berth::reconcilers {

// Which addresses may be sent to.
enum class Reach { public_only, private_too };

// Decides which addresses webhooks may be sent to (controller/base/public_address.h). Thread-safe.
class WebhookAddresses {
 public:
  // Addresses in `closed` are refused even if the reach allows them.
  WebhookAddresses(Reach reach, std::vector<AddressRange> closed);

  // To be asked with the address that a connection is made to, so that a name that resolves to
  // another address a moment later changes nothing.
  bool allows(const sockaddr& address) const;

 private:
  const Reach reach_;
  const std::vector<AddressRange> closed_;
};

}  // namespace berth::reconcilers
