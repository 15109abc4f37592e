#include "reconcilers/loops/password_resets.h"

#include "controller/base/log.h"
#include "controller/domain/lifecycle/passwords.h"

namespace berth::reconcilers {
namespace {

constexpr int answered_at_once = 20;  // so that other writers aren't held up

}  // namespace

void PasswordResets::answer_and_log() {
  try {
    while (!rounds_.stopping() && turn_.is_mine() &&
           database_.read(accounts::is_any_reset_requested))
      turn_.write([this](db::Tx& tx) {
        accounts::answer_reset_requests(tx, keys_, base_url_, answered_at_once);
      });
  } catch (const std::exception& failure) {
    log::warning("mails to users who forgot their password couldn't be written; trying again",
                 {{"error", failure.what()}});
  }
}

}  // namespace berth::reconcilers
