// ID tokens that somebody shows, and the keys that their issuers give.
#include "controller/base/jwk.h"

#include <nlohmann/json.hpp>

#include "controller/base/jws.h"
#include "tests/fuzz/fuzz.h"

namespace berth::fuzz {

using nlohmann::json;

void run(std::string_view input) {
  static const jwk::Key key = jwk::keys_in({{"keys", json::array({jws::jwk_of(jws::public_key_of(
                                                         std::string(jws::seed_bytes, 's')))})}})
                                  .value()
                                  .at(0);
  if (const auto token = jwk::parse(input)) {
    hold(token->claims.is_object(), "the claims are an object");
    hold(!token->key_id.empty(), "a token names its key");
    hold(!jwk::verifies(key, *token), "nobody else can sign a token");
  }
  const auto keys = jwk::keys_in(json::parse(input, nullptr, false));
  if (!keys) return;
  hold(keys->size() <= jwk::max_keys, "there are no more keys than are allowed");
  for (const jwk::Key& one : *keys) hold(!one.id.empty() && one.key != nullptr, "each is a key");
}

}  // namespace berth::fuzz
