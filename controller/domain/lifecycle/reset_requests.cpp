#include "controller/domain/lifecycle/reset_requests.h"

#include "controller/domain/lifecycle/passwords.h"

namespace berth::accounts {
namespace {

constexpr int resets_answered_at_once = 20;  // so that other writers aren't held up

}  // namespace

Loop reset_loop(const Keys& keys, const std::string& base_url) {
  return {.name = "resets",
          .interval = std::chrono::milliseconds(500),
          .lease = "password resets",
          .round =
              [&keys, base_url](Round& round) {
                round.repeat(is_any_reset_requested, [&](db::Tx& tx) {
                  return answer_reset_requests(tx, keys, base_url, resets_answered_at_once);
                });
              },
          .failure = "mails to users who forgot their password couldn't be written; trying again"};
}

}  // namespace berth::accounts
