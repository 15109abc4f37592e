#include "controller/domain/kernel/keys.h"

#include "controller/base/crypto.h"

namespace berth {
namespace {

constexpr size_t secret_bytes = 32;  // as long as the hash (RFC 7518, section 3.2)
constexpr size_t id_bytes = 8;

}  // namespace

SessionKeys::List rotated(const SessionKeys::List& keys, Instant now, Duration session_lifetime) {
  SessionKeys::List result = {{.id = hex(random_bytes(id_bytes)),
                               .secret = random_bytes(secret_bytes),
                               .retired_at = std::nullopt}};
  for (SessionKeys::Key key : keys) {
    if (!key.retired_at) key.retired_at = now;
    if (now - *key.retired_at < session_lifetime) result.push_back(std::move(key));
  }
  return result;
}

}  // namespace berth
