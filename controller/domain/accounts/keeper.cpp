#include "controller/domain/accounts/keeper.h"

namespace berth::accounts {

void add_keeper(db::Tx& tx) {
  // Users are numbered from 1 on, and the sign-up bonus depends on the number.
  tx.execute(
      R"(
      INSERT INTO users (id, email, email_key, username, username_key, password_hash,
                         referral_code, registration_number, signup_multiplier, suspended_at,
                         deleted_at, created_at, updated_at)
      VALUES ($1, '', 'deleted:' || $1, 'deleted', 'deleted:' || $1, '', 'deleted:' || $1, 0, 1,
              $2, $2, $2, $2)
      ON CONFLICT (id) DO NOTHING)",
      keeper_id, tx.now());
}

}  // namespace berth::accounts
